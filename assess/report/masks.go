package report

import "github.com/sdlfilter/sdlfilter/assess"

// Mask describes one mask of the pipeline and how many records it changed.
type Mask struct {
	Mask       string                `json:"mask"`           // kind: noise, bias, …
	Name       string                `json:"name,omitempty"` // as configured
	Columns    []string              `json:"columns"`
	Records    int64                 `json:"records" doc:"number of records that the mask changed"` // records that it changed
	Parameters Ordered[any]          `json:"parameters,omitempty"`                                  // by their names in the configuration
	NoiseSD    Ordered[assess.Float] `json:"noise_sd,omitempty" doc:"λ of each column, in the column's unit"`
}

// MarshalJSON writes columns as [] if there are none.
func (m Mask) MarshalJSON() ([]byte, error) {
	type plain Mask
	m.Columns = full(m.Columns)
	return marshal(plain(m))
}
