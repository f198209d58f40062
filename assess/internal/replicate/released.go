package replicate

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
)

// Released masks a subset once and returns the released values of each of its columns, by
// record; NaN if none is released. For a column that no mask changes these are its originals.
// The carried columns follow after the others, as codes.
func Released(mask Masker, of sample.Layout, s *Subset) ([][]float64, error) {
	r := newReplicator(&Trial{Of: of}, nil)
	for c := range len(of.Columns) + len(of.Carry) {
		r.columns = append(r.columns, c)
	}
	r.kept, r.released, r.holes = make([][]float64, len(r.columns)), make([][]float64, len(r.columns)),
		make([]bool, len(r.columns))
	if err := r.mask(mask, s); err != nil {
		return nil, err
	}
	out := make([][]float64, len(r.columns))
	for c, values := range r.released {
		out[c] = slices.Clone(values[:s.Size])
	}
	return out, nil
}
