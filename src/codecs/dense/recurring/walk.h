// From numbers to symbols and back, whatever the model.
#pragma once

#include "codecs/dense/recurring/classes.h"
#include "codecs/dense/recurring/contexts.h"

namespace tensorpress::dense {

class ModelWalk {
 public:
  explicit ModelWalk(const NumberModel& model) : model_(model), differences_(model) {}

  /// Calls put(context, symbol) for the numbers that begin at `at`.
  template <class Put>
  void encode(std::uint16_t* at, std::size_t column, std::size_t count, Put&& put) {
    const std::uint16_t* next = at;
    if (model_.predictor == NumberPredictor::alike) {
      walk_classes(model_, at, column, count, [&](std::size_t context, int w, auto list) {
        const int number = *next++;
        put(context, number == w ? 0 : list().place_of(number));
        return number;
      });
      return;
    }
    differences_.stretch(at, column, count, [&](std::size_t context, int prediction) {
      const int number = *next++;
      put(context, number_difference(number, prediction, model_.entries));
      return number;
    });
  }

  /// Asks get(context) for each symbol and writes the numbers; false if one is none of the palette.
  template <class Get>
  bool decode(std::uint16_t* at, std::size_t column, std::size_t count, Get&& get) {
    const int ring = static_cast<int>(model_.entries);
    bool inside = true;
    const auto checked = [&](int number) {
      if (number >= 0 && number < ring) [[likely]]
        return number;
      inside = false;
      return 0;
    };
    if (model_.predictor == NumberPredictor::alike) {
      walk_classes(model_, at, column, count, [&](std::size_t context, int w, auto list) {
        const int place = get(context);
        if (place == 0) [[likely]]
          return w;
        return checked(place < 0 ? -1 : list().number_at(place));
      });
      return inside;
    }
    differences_.stretch(at, column, count, [&](std::size_t context, int prediction) {
      int number = prediction + get(context);
      number += number < 0 ? ring : 0;
      number -= number >= ring ? ring : 0;
      return checked(number);
    });
    return inside;
  }

 private:
  NumberModel model_;
  NumberWalk differences_;
};

}  // namespace tensorpress::dense
