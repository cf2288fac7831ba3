"""Names of the vendor's packages; the work is done in tensorpress.csl."""
