package rumap

import "github.com/sdlfilter/sdlfilter/assess"

// Schema names the format of map.json.
const Schema = "sdlfilter.map/1"

// Configured is the name of the strategy that is the configuration's own masks.
const Configured = "configured"

// Map is an R-U confidentiality map on data. R and U are in 1/(unit of the
// column)².
type Map struct {
	Schema     string       `json:"schema"`
	Name       string       `json:"name"`
	Version    string       `json:"version"`
	Column     string       `json:"column"`
	Unit       string       `json:"unit,omitempty"`
	Replicates int          `json:"replicates"`        // M
	Records    int64        `json:"records"`           // in the data
	Sampled    int          `json:"sampled,omitempty"` // records of the keyed sample that replicates were made on; 0: all
	Groups     []string     `json:"by,omitempty"`      // columns that R and U are also given by
	U0         assess.Float `json:"U0"`                // n/S² of the original column
	Axes       []Axis       `json:"axes"`              // in the order of the configuration
	Rules      []Rule       `json:"rules"`             // of the gate, on this column
	Margin     float64      `json:"margin,omitempty"`  // standard errors of R that a limit must leave
	Points     []Point      `json:"points"`

	Recommended *Recommended `json:"recommended"`      // nil where no point is admissible
	Reason      string       `json:"reason,omitempty"` // what prevents it, where none is
}

// Axis is one parameter that runs over a range.
type Axis struct {
	Path string `json:"path"` // masks.1.noise.sd
	// Relative says that the values are fractions of the column's standard
	// deviation, or else that they are in the parameter's own unit.
	Relative bool `json:"relative,omitempty"`
}

// Rule is a limit of the gate: Target "" and Knowledge "" stand for all of them.
type Rule struct {
	Target        string        `json:"target,omitempty"`
	Knowledge     string        `json:"knowledge,omitempty"`
	MaxRisk       *assess.Float `json:"max_risk,omitempty"`
	MinRMSE       *assess.Float `json:"min_rmse,omitempty"` // the same as a greatest R of 1/MinRMSE²
	MinEfficiency *assess.Float `json:"min_efficiency,omitempty"`
}

// Point is one choice of all parameters.
type Point struct {
	Strategy   string             `json:"strategy"`
	Parameters map[string]float64 `json:"parameters"` // by path; only those that run over a range
	Efficiency assess.Float       `json:"efficiency"` // U/U₀
	// EfficiencyGate is what min_efficiency is held against: assess.Utility has it.
	EfficiencyGate assess.Float `json:"efficiency_gate"`
	Sampled        bool         `json:"sampled,omitempty"` // whether U rests on the keyed sample
	Approximate    bool         `json:"approximate,omitempty"`
	Errs           string       `json:"errs,omitempty"` // safe or either
	U              assess.Float `json:"U"`
	USE            assess.Float `json:"U_se"` // Monte-Carlo standard error
	Bias           assess.Float `json:"bias"` // E(ȳ) − x̄
	Admissible     bool         `json:"admissible"`
	Broken         []Broken     `json:"broken,omitempty"` // rules that do not hold
	Risk           []Risk       `json:"risk"`
	Groups         []Group      `json:"groups,omitempty"`
	Worst          *Group       `json:"worst,omitempty"` // of the groups, that of the greatest R anywhere among what the rules protect
}

// Broken says that a rule of Map.Rules does not hold at a point.
type Broken struct {
	Rule      int          `json:"rule"` // index in Map.Rules
	Target    string       `json:"target,omitempty"`
	Knowledge string       `json:"knowledge,omitempty"`
	Found     assess.Float `json:"found"`               // R, RMSE or efficiency, as the rule's limit
	HeldBack  bool         `json:"held_back,omitempty"` // it holds on the replicates of the map, not on those held back
}

// Risk is R of one target under one knowledge state.
type Risk struct {
	Target    string       `json:"target"`
	Knowledge string       `json:"knowledge"`
	R         assess.Float `json:"R"`
	RSE       assess.Float `json:"R_se"` // Monte-Carlo standard error
	RMSE      assess.Float `json:"rmse"` // √(1/R), in the column's unit

	// As assess.Risk has them: whether R rests on the keyed sample, and whether it is
	// known to a stated accuracy.
	Sampled     bool   `json:"sampled,omitempty"`
	Approximate bool   `json:"approximate,omitempty"`
	Errs        string `json:"errs,omitempty"`
}

// judged is R as a gate judges it.
func (k *Risk) judged() float64 {
	return float64(assess.Risk{R: k.R, SE: k.RSE, Sampled: k.Sampled, Approximate: k.Approximate, Errs: k.Errs}.Upper())
}

// precision is the efficiency as a gate judges it.
func (p *Point) precision() assess.Float {
	return assess.Utility{U: p.U, SE: p.USE, EfficiencyGate: p.EfficiencyGate, Sampled: p.Sampled, Approximate: p.Approximate, Errs: p.Errs}.Lower()
}

// Group is one group of records: the values of the columns that Map.Groups names.
type Group struct {
	Values     []string     `json:"values"`
	Records    int          `json:"records"` // masked in a replicate
	Efficiency assess.Float `json:"efficiency"`
	Risk       []Risk       `json:"risk"`
}

// Recommended is the admissible point of greatest utility.
type Recommended struct {
	Point   int       `json:"point"`   // index in Map.Points
	Binding []Binding `json:"binding"` // what keeps the next better point from being admissible
	// HeldBack says that the rules were also found to hold on so many further
	// replicates, of which none was used in choosing.
	HeldBack int `json:"held_back_replicates"`
}

// Binding is what binds: a target under a knowledge state, or the efficiency.
type Binding struct {
	Target    string `json:"target,omitempty"`
	Knowledge string `json:"knowledge,omitempty"`
	Rule      int    `json:"rule"` // index in Map.Rules
}
