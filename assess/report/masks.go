package report

import "github.com/sdlfilter/sdlfilter/assess"

// Mask describes one mask of the pipeline and how many records it changed.
type Mask struct {
	Mask    string   `json:"mask"`           // kind: noise, bias, …
	Name    string   `json:"name,omitempty"` // as configured
	Columns []string `json:"columns"`
	// records that it changed
	Records int64 `json:"records" doc:"number of records that the mask changed"`
	// by their names in the configuration
	Parameters Ordered[any]          `json:"parameters,omitempty"`
	NoiseSD    Ordered[assess.Float] `json:"noise_sd,omitempty" doc:"λ of each column, in the column's unit"`
	// Calibration is nil but for calibrate.
	Calibration *Calibration `json:"calibration,omitempty" doc:"of calibrate: how the weights were calibrated"`
	// Relocated is nil but for recordswap.
	Relocated *Relocated `json:"relocated,omitempty" doc:"of recordswap: how many households were exchanged"`
}

// Relocated says how many households were exchanged by a record swap.
type Relocated struct {
	Households int          `json:"households" doc:"households with released records"`
	AtRisk     int          `json:"at_risk" doc:"households with a member whose keys fewer than k households of their area have, at some level of the hierarchy, before the exchange"`
	Swapped    int          `json:"swapped" doc:"households that were exchanged, both of each pair"`
	Left       int          `json:"left" doc:"households at risk that stay where they are, because no household of another area is similar"`
	Found      assess.Float `json:"found" doc:"households at risk expected to be found by a snooper who knows their area, the keys of the member with the rarest, and the mask: of the released households of other areas with these keys, those that are rare where they are must have come from elsewhere"`
	MaxFound   assess.Float `json:"max_found" doc:"the greatest probability with which a household at risk is so found"`
	Exposed    int          `json:"exposed" doc:"households at risk with a member whose keys fewer than k households of all areas together have: whoever knows these keys finds them wherever they are"`
}

// Calibration says how sampling weights were calibrated, and what they tell.
type Calibration struct {
	Records    int          `json:"records" doc:"released records with a weight above 0"`
	Iterations int          `json:"iterations" doc:"iterations of Newton's method"`
	Gap        assess.Float `json:"gap" doc:"greatest relative error of a margin by the weights as they are released, rounded to the column's decimals"`
	Least      assess.Float `json:"least_factor" doc:"least factor, relative to the ratio of all weights after to all before"`
	Greatest   assess.Float `json:"greatest_factor" doc:"greatest factor"`
	AtLower    int          `json:"at_lower" doc:"records whose factor is within a hundredth of the way from the lower bound to 1"`
	AtUpper    int          `json:"at_upper" doc:"records whose factor is within a hundredth of the way from the upper bound to 1"`
	Before     assess.Float `json:"design_before" doc:"Kish's 1 + CV² of the weights before: the loss of precision by their differences"`
	After      assess.Float `json:"design_after" doc:"Kish's 1 + CV² of the released weights"`
	Alone      int          `json:"alone" doc:"records whose released weight no other record has: whoever knows the weight finds the record"`
}

// Place says what is released of a pair of columns that hold a point.
type Place struct {
	Columns  []string     `json:"columns"`
	Unit     string       `json:"unit" doc:"degrees or metres"`
	Records  int64        `json:"records" doc:"released records with both coordinates"`
	RMSE     assess.Float `json:"rmse" doc:"root mean squared distance in metres of a snooper's best guess from the true place: the least of those below"`
	Released assess.Float `json:"rmse_released" doc:"that of the released point"`
	// Population and Record are null where they are not known.
	Population *assess.Float `json:"rmse_population,omitempty" doc:"that of a snooper who knows the population and the mask, and takes the mean of the places where the released point can come from"`
	Record     *assess.Float `json:"rmse_record,omitempty" doc:"that of the best linear estimates of both coordinates from all released columns of the record"`
	Order      *assess.Float `json:"rmse_order,omitempty" doc:"that of a snooper who knows the order of the records in the source, which departs from a shuffled one"`
	Tells      []string      `json:"tells,omitempty" doc:"released columns that tell of the place, beside the point"`
	Least      assess.Float  `json:"least_distance" doc:"least distance in metres of a released point from the true one"`
	Greatest   assess.Float  `json:"greatest_distance" doc:"greatest such distance"`
	K          *SpatialK     `json:"spatial_k,omitempty" doc:"number of people who live as near to the released point as the true place is, or nearer, over the records; of three digits"`
	Candidates *SpatialK     `json:"candidates,omitempty" doc:"number of people who live where the mask could have moved the released point from"`
	Lesser     *SpatialK     `json:"lesser,omitempty" doc:"the lesser of both, which a gate judges"`
}

// SpatialK is a distribution of numbers of people over the records.
type SpatialK struct {
	Least  int64         `json:"least"`
	P10    int64         `json:"p10"`
	Median int64         `json:"median"`
	Below  *assess.Float `json:"share_below,omitempty" doc:"share of the records below k_least of the mask"`
}

// MarshalJSON writes columns as [] if there are none.
func (m Mask) MarshalJSON() ([]byte, error) {
	type plain Mask
	m.Columns = full(m.Columns)
	return marshal(plain(m))
}
