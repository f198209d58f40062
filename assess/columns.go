package assess

import (
	"github.com/sdlfilter/sdlfilter/assess/internal/fileorder"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// columnSums is what is exact of a column besides the co-moments.
type columnSums struct {
	pairs            int64            // records with both values
	diff, squareDiff float64          // Σ(y−x), Σ(x−y)²
	unchanged        int64            // pairs with y = x
	order            *fileorder.Order // nil where no mask touches the column
	low, high        float64          // of the released values; +Inf, −Inf where there are none
	bottom, top      sample.Edge      // most extreme records by original value
	counts           *tally.Counts    // nil where the sample serves
}
