package rumap

import "github.com/sdlfilter/sdlfilter/assess"

// Schema names the format of map.json.
const Schema = "sdlfilter.map/1"

// Configured is the name of the strategy that is the configuration's own masks.
const Configured = "configured"

// Map is an R-U confidentiality map on data. R and U are in 1/(unit of the
// column)².
type Map struct {
	Schema  string `json:"schema" doc:"identifies the kind of this object and the version of its format"`
	Name    string `json:"name" doc:"name of the pipeline"`
	Version string `json:"version" doc:"version of the program"`
	Column  string `json:"column"`
	// Categories are the columns of a map of categories, whose U is in bits
	// and whose R is a probability; Column has their names one after another.
	Categories []string `json:"categories,omitempty" doc:"columns of a map of categories: U is the information that their released categories contain about the original ones, in bits, and R is the probability that a record is found by its categorical keys"`
	Unit       string   `json:"unit,omitempty"`
	Variable   string   `json:"label,omitempty" doc:"label of the variable, where the sink releases labels of variables"`
	Replicates int      `json:"replicates" doc:"number of masked replicates of each point, M"`
	Records    int64    `json:"records" doc:"number of records in the data"`
	// records of the keyed sample that replicates were made on; 0: all
	Sampled int          `json:"sampled,omitempty" doc:"number of records of the keyed sample on which the replicates were made; absent if they were made on all records"`
	Groups  []string     `json:"by,omitempty" doc:"columns by which the records are grouped: R and U are also given for each group"`
	Samples int          `json:"samples,omitempty" doc:"number of different samples among the points: records, U0 and efficiency are then those of the largest sample; absent if all points have the same records"`
	U0      assess.Float `json:"U0" doc:"utility of the unmasked data, n/S²"`  // n/S² of the original column
	Axes    []Axis       `json:"axes" doc:"parameters that vary over a range"` // in the order of the configuration
	Rules   []Rule       `json:"rules" doc:"the gate's limits, in its order, followed by the conditions that every run requires"`
	Margin  float64      `json:"margin,omitempty" doc:"number of Monte-Carlo standard errors of R by which a limit must hold"`
	Points  []Point      `json:"points" doc:"the points, each with a value for every parameter"`

	// Unjudged are the rules that could be judged at no point, in words.
	Unjudged []string `json:"unjudged,omitempty" doc:"rules, in words, that could not be judged at any point: without them no point is recommended"`

	// nil where no point is admissible
	Recommended *Recommended `json:"recommended" doc:"the admissible point with the greatest utility; null if there is none"`
	// what prevents it, where none is
	Reason string `json:"reason,omitempty" doc:"why no point is recommended"`

	earlier   bool // whether a run is judged with earlier releases
	record    bool // whether points have the risk under knowledge of the whole record
	gateRules int  // rules of the gate; behind them in Rules is what a run demands by itself
}

// Axis is one parameter that runs over a range.
type Axis struct {
	Path string `json:"path" doc:"path of the parameter in the configuration"` // masks.1.noise.sd
	// Relative says that the values are fractions of the column's standard
	// deviation, or else that they are in the parameter's own unit.
	Relative bool `json:"relative,omitempty" doc:"whether values are fractions of the column's standard deviation"`
}

// Rule is a limit of the gate. An empty Target or Knowledge stands for all of them. A rule
// about anything but R, RMSE and efficiency has a Measure and its Limit.
type Rule struct {
	Column    string        `json:"column,omitempty" doc:"column of the rule, if it is not the map's; absent for measures about respondents"`
	Target    string        `json:"target,omitempty" doc:"target of the rule; absent: every target"`
	Knowledge string        `json:"knowledge,omitempty" doc:"knowledge state of the rule; absent: every knowledge state"`
	Record    string        `json:"record,omitempty" doc:"alone: the rule leaves out what the other columns of the record tell"`
	MaxRisk   *assess.Float `json:"max_risk,omitempty"`
	// the same as a greatest R of 1/MinRMSE²
	MinRMSE       *assess.Float `json:"min_rmse,omitempty" doc:"equivalent to a greatest R of 1/min_rmse²"`
	MinEfficiency *assess.Float `json:"min_efficiency,omitempty"`

	Measure string        `json:"measure,omitempty" doc:"the limited measure, if it is not R, RMSE or efficiency, named as in the gate's verdict: max_linked, min_k, max_unchanged, inversion …"`
	Limit   *assess.Float `json:"limit,omitempty" doc:"the limit on this measure"`
	Words   string        `json:"words,omitempty" doc:"the rule about this measure in words"`
	// Combinations is the number of keys of the sets that the rule is about; 0: all keys together.
	Combinations int `json:"combinations,omitempty" doc:"number of keys of the sets that the rule is about; absent: all keys together"`

	ofEpsilon bool // a limit of ε of the map's column by itself

	ofAll bool // about what all releases of a ledger tell
	inRun bool // a requirement of a run, judged by the run itself: points cannot be compared with it
}

// Point is one choice of all parameters.
type Point struct {
	Strategy   string             `json:"strategy" doc:"configured, or the name of a strategy"`
	Parameters map[string]float64 `json:"parameters" doc:"values of the parameters that vary over a range, by path"`
	Records    int64              `json:"records,omitempty" doc:"number of released records, if the points have different samples"`
	U0         assess.Float       `json:"U0,omitempty" doc:"utility of these records unmasked"`
	Efficiency assess.Float       `json:"efficiency" doc:"U/U0, with U0 of the map"` // U/U₀
	// EfficiencyGate is the efficiency that min_efficiency limits: assess.Utility defines it.
	EfficiencyGate assess.Float `json:"efficiency_gate"`
	Sampled        bool         `json:"sampled,omitempty"` // whether U rests on the keyed sample
	Approximate    bool         `json:"approximate,omitempty"`
	Errs           string       `json:"errs,omitempty"` // safe or either
	U              assess.Float `json:"U" doc:"data utility 1/E(μ̂ − μ)², where E is the expectation over replicates"`
	USE            assess.Float `json:"U_se" doc:"Monte-Carlo standard error of U"`
	Bias           assess.Float `json:"bias" doc:"expected shift of the mean"` // E(ȳ) − x̄
	Admissible     bool         `json:"admissible" doc:"whether all rules that could be judged at this point hold"`
	Impossible     string       `json:"impossible,omitempty" doc:"why a mask cannot be applied to the records at this point; if the replicates find this, the point has no figures"`
	Unjudged       []string     `json:"unjudged,omitempty" doc:"rules, in words, that could not be judged at this point"`
	Broken         []Broken     `json:"broken,omitempty" doc:"rules that do not hold"`
	Risk           []Risk       `json:"risk"`
	Groups         []Group      `json:"groups,omitempty" doc:"R and U by group"`
	// Respondents and Unchanged are of one replicate of the sample, as the masks would
	// release it.
	Respondents map[string]assess.Float `json:"respondents,omitempty" doc:"measures about respondents that rules limit, by name, from one replicate of the sample; max_attribute_disclosure also if assess.intruder.attribute is configured"`
	Loss        *Loss                   `json:"loss,omitempty" doc:"information loss that U does not measure, from one replicate of the sample, if assess.intruder.utility is configured"`
	Unchanged   map[string]assess.Float `json:"unchanged,omitempty" doc:"share of unchanged values, for each column that a rule is about, from one replicate of the sample"`
	Exact       map[string]assess.Float `json:"exact,omitempty" doc:"share of values that the best snooper states within the distance of a rule max_exact, by the rule in words, from one replicate of the sample"`
	Privacy     map[string]assess.Float `json:"privacy,omitempty" doc:"ε that a rule max_epsilon or max_metric_epsilon limits, by the rule in words; null where none can be stated"`
	Epsilon     *assess.Float           `json:"epsilon,omitempty" doc:"ε of the map’s column by itself, if a rule limits ε or assess.privacy asks for it; null where none can be stated"`
	// R and U of other columns that rules are about
	Beside map[string]*Point `json:"-"`
	// of the groups, that of the greatest R anywhere among what the rules protect
	Worst *Group `json:"worst,omitempty" doc:"the group with the greatest R of those that the rules limit"`
}

// Broken says that a rule of Map.Rules does not hold at a point.
type Broken struct {
	Rule      int          `json:"rule" doc:"index in rules"` // index in Map.Rules
	Target    string       `json:"target,omitempty"`
	Knowledge string       `json:"knowledge,omitempty"`
	Found     assess.Float `json:"found" doc:"the value found for the measure that the rule limits: R, RMSE or efficiency"`
	HeldBack  bool         `json:"held_back,omitempty" doc:"whether the rule holds on the replicates of the map but not on those held back"`
	AsRun     bool         `json:"as_run,omitempty" doc:"whether this was found when all records were masked and judged as in a run"`
}

// Risk is R of one target under one knowledge state.
type Risk struct {
	Target    string       `json:"target" doc:"typical, min, p01, …, max"`
	Knowledge string       `json:"knowledge" doc:"mean, index or position"`
	R         assess.Float `json:"R" doc:"disclosure risk 1/E(τ − τ̂)²"`
	RSE       assess.Float `json:"R_se" doc:"standard error of R; of an upper bound (bound) R/2"`
	RMSE      assess.Float `json:"rmse" doc:"√(1/R), in the column's unit"`

	// As assess.Risk has them: whether R rests on the keyed sample, and whether it is
	// known to a stated accuracy.
	Sampled     bool   `json:"sampled,omitempty"`
	Approximate bool   `json:"approximate,omitempty"`
	Errs        string `json:"errs,omitempty"`
	Bound       bool   `json:"bound,omitempty"`
}

// judged is R with the errors that a gate adds.
func (k *Risk) judged() float64 {
	return float64(assess.Risk{R: k.R, SE: k.RSE, Sampled: k.Sampled, Approximate: k.Approximate, Errs: k.Errs,
		Bound: k.Bound}.Upper())
}

// precision is the efficiency with the errors that a gate takes off.
func (p *Point) precision() assess.Float {
	return assess.Utility{U: p.U, SE: p.USE, EfficiencyGate: p.EfficiencyGate, Sampled: p.Sampled,
		Approximate: p.Approximate, Errs: p.Errs}.Lower()
}

// Group is one group of records: the values of the columns that Map.Groups names.
type Group struct {
	Values     []string     `json:"values" doc:"values of the columns in by"`
	Records    int          `json:"records" doc:"number of records that are masked in a replicate"`
	Efficiency assess.Float `json:"efficiency"`
	Risk       []Risk       `json:"risk"`
}

// Recommended is the admissible point of greatest utility.
type Recommended struct {
	Point   int       `json:"point" doc:"index in points"` // index in Map.Points
	Binding []Binding `json:"binding" doc:"rules that keep the next better point from being admissible"`
	// HeldBack says that the rules were also found to hold on so many further
	// replicates, of which none was used in choosing.
	HeldBack int `json:"held_back_replicates" doc:"number of further replicates, not used for the choice, on which the rules hold"`
	// AsRun says that all records were masked and judged as a run would, and that its
	// gate passed.
	AsRun bool `json:"as_run" doc:"whether all records were also masked and judged as in a run, and the gate passed"`
}

// Binding is what binds: a target under a knowledge state, or the efficiency.
type Binding struct {
	Target    string `json:"target,omitempty"`
	Knowledge string `json:"knowledge,omitempty"`
	Rule      int    `json:"rule" doc:"index in rules"` // index in Map.Rules
}
