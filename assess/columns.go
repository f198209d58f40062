package assess

import (
	"github.com/sdlfilter/sdlfilter/assess/internal/fileorder"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// columnSums holds the exact figures of a column other than its co-moments.
type columnSums struct {
	pairs            int64            // records with both values
	diff, squareDiff float64          // Σ(y−x), Σ(x−y)²
	unchanged        int64            // pairs with y = x
	order            *fileorder.Order // nil if no mask changes the column
	low, high        float64          // range of the released values; +Inf, −Inf if there are none
	bottom, top      sample.Edge      // most extreme records by original value
	counts           *tally.Counts    // nil if the sample is enough
}
