// See highway.h beside it.
#pragma once
#include "highway.h"
