package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// Loosening is a setting of the environment or the command line that lets more out
// than the configuration file does, or may: it weakens a role, a mask, the gate or
// what they rest on.
type Loosening struct {
	Path   string `json:"path"`           // columns.ssn.role
	Origin string `json:"origin"`         // environment SDLFILTER_COLUMNS__SSN__ROLE
	From   string `json:"from,omitempty"` // as the file has it; "" where it says nothing
	To     string `json:"to"`
}

// Words is the loosening in one line, without its place.
func (o Loosening) Words() string {
	from := "nothing"
	if o.From != "" {
		from = strconv.Quote(clipped(o.From))
	}
	return fmt.Sprintf("%q may let out what the file withholds, which says %s", clipped(o.To), from)
}

func clipped(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// LooseningAllowed returns an error for each setting that loosens a pipeline, unless that is
// allowed.
func (p *Pipeline) LooseningAllowed(allowed bool) error { return looseningAllowed(p.Loosened, allowed) }

func looseningAllowed(list []Loosening, allowed bool) error {
	if allowed || len(list) == 0 {
		return nil
	}
	var problems Errors
	for _, o := range list {
		problems = append(problems,
			Error{Path: o.Path, Text: o.Words() + "; say it in the file, or run with --allow-loosening", File: o.Origin})
	}
	return problems
}

// change is what settings have made of one scalar of the file. It is judged by the path, by what
// the file says (or, where it is silent, by the default), and by the pipeline as it then is.
type change struct {
	form.Change
	pipeline *Pipeline
}

// loosened lists the settings that loosen.
func (l *loader) loosened(p *Pipeline) []Loosening {
	return l.loosenedBy(func(c form.Change) bool { return (&change{c, p}).loosens() })
}

func (l *loader) loosenedBy(loosens func(form.Change) bool) (list []Loosening) {
	for _, c := range l.Changes() {
		if repeats(c) || !loosens(c) {
			continue
		}
		o := Loosening{Path: c.Path, Origin: c.Origin, To: c.Now}
		if c.Old != nil {
			o.From = *c.Old
		}
		list = append(list, o)
	}
	return list
}

// repeats reports whether a setting repeats the file. What the file leaves to ${…} is not known
// here.
func repeats(c form.Change) bool {
	return c.Old != nil && *c.Old == c.Now && !strings.Contains(c.Now, "${")
}

// loosens judges a setting by its place. A setting loosens unless it is known to be harmless,
// or to be at least as strict as the file.
func (c *change) loosens() bool {
	switch names := c.Names; names[0] {
	case "version", "quarantine", "map":
		return false // where entries go that hold no value; a run ignores the map
	case "name":
		// it names the consumer group; and what tables that are answered for by a name (allow_records) are made beside
		return c.resumes() || c.pipeline.Ledger != ""
	case "source":
		return c.loosensSource(names)
	case "sink":
		return c.loosensSink(names)
	case "columns":
		return c.loosensColumn(names[len(names)-1])
	case "unlisted":
		return c.Now != "fail"
	case "shard":
		return c.Now != "true"
	case "masks":
		return c.Added || c.loosensMask(names)
	case "assess":
		return c.loosensAssessment(names)
	case "gate":
		return c.loosensGate(names)
	case "report":
		return names[1] == "publish"
	case "ledger":
		return c.Old != nil // another one has other releases, or none
	}
	return true // key, identity, household, weight, profile, window, and what is yet to come
}

// resumes reports whether a gate judges what is read of topics: the same records in
// other portions, or from another beginning, may pass where those of the file did not.
func (c *change) resumes() bool {
	return c.pipeline.kafkaSource() != nil && c.pipeline.Gate.Judges()
}

// Of a source, a sink and a column, what decides where data come from and go to, and how values
// that are released are spelled, but not which.
var (
	whence = []string{"path", "brokers", "tls", "sasl", "patience", "startup_patience", "topics", "pattern", "instance",
		"registry"}
	where = []string{"path", "brokers", "tls", "sasl", "patience", "startup_patience", "topic", "registry", "compression",
		"encoding", "delimiter", "header"}
)

func (c *change) loosensSource(names []string) bool {
	switch {
	case len(names) < 3:
	case slices.Contains(whence, names[2]):
		return false
	case slices.Contains([]string{"group", "start", "until"}, names[2]):
		return c.resumes()
	case names[2] == "on_recreated":
		return c.Now != "stop" // else records leave that the file would not have released
	}
	return true
}

func (c *change) loosensSink(names []string) bool {
	switch field := names[len(names)-1]; field {
	case "order":
		return c.Now != "shuffled"
	case "key", "headers", "timestamp":
		return c.Now != "drop"
	case "on_refused":
		return false // the record does not leave
	case "delivery":
		return c.Now != "exactly_once" // else records leave before the gate judges them
	case "quoting":
		return c.Now != "all" // else fields that no mask has changed show by their quotes
	case "line_ending":
		return c.Now != "lf" && c.Now != "crlf" // else each record shows that of its source
	}
	switch {
	case len(names) < 3:
	case slices.Contains(where, names[2]):
		return false
	case names[2] == "commit", names[2] == "roll": // the portions that the gate judges
		return c.resumes()
	}
	return true
}

// loosensColumn judges a column of the file; one that the file does not list is what ends a run
// there. A role that takes a column from the intruder's keys, or gives him one more (which may
// lead him astray), changes what the gate counts.
func (c *change) loosensColumn(field string) bool {
	switch field {
	case "unit":
		return false
	case "role":
		if c.Old == nil {
			return true
		}
		return c.Now != "identifier" && (c.Now != "sensitive" || *c.Old != "other")
	case "unmasked":
		return c.Now != "false"
	case "as":
		return c.Now != "null" // else the codes for missing values leave
	}
	return true // decimals, missing, level, same_as: what is masked, and which values have one draw
}

// loosensMask judges masks, KIND, PARAMETER. Of three parameters it is known that more of them hides
// more, whatever comes before and after: the SD of noise and the spread of a bias. Rounding and
// clipping hide more only where they are all that becomes of a column (behind noise, a coarser
// base brings values that lie on it back), and rounding only to a multiple of the base: to 8 instead of 7
// releases the multiples of 8. A greater rate of swap brings pairs into exchange that are undone more
// easily; so does every other parameter, or it may.
func (c *change) loosensMask(names []string) bool {
	switch strings.Join(names[1:], ".") {
	case "topcode.least", "rankswap.least", "microaggregate.least", "calibrate.least": // which refuse, and change no value
		return !c.or("3").grows()
	case "topcode.share", "rankswap.share", "microaggregate.share", "calibrate.share":
		return !c.or("0.8").shrinks()
	case "recordswap.max_left":
		return !c.or("0").shrinks()
	case "noise.sd", "bias.phi", "bias.range":
		return !c.grows()
	case "round.base":
		return !c.alone() || !c.compare(multiple)
	case "round.decimals":
		return !c.alone() || !c.shrinks()
	case "truncate.lower":
		return !c.alone() || !c.grows()
	case "truncate.upper":
		return !c.alone() || !c.shrinks()
	}
	return true
}

// alone reports whether no other mask touches the columns of the mask that a setting changes.
func (c *change) alone() bool {
	at, masks := indexIn(c.Path, "masks"), c.pipeline.Masks
	if at < 0 || at >= len(masks) {
		return false
	}
	for i, other := range masks {
		for _, name := range masks[at].Params.Masks() {
			if i != at && (slices.Contains(other.Params.Masks(), name) || slices.Contains(other.Params.Reads(), name)) {
				return false
			}
		}
	}
	return true
}

// indexIn is the index that follows a list's name at the start of a path, or −1.
func indexIn(path, list string) int {
	text, found := strings.CutPrefix(path, list+"[")
	text, _, closed := strings.Cut(text, "]")
	i, err := strconv.Atoi(text)
	if !found || !closed || err != nil {
		return -1
	}
	return i
}

// multiple reports whether all multiples of now are multiples of old.
func multiple(old, now float64) bool {
	q := now / old
	return old > 0 && q >= 1 && math.Abs(q-math.Round(q)) <= 1e-9
}

// defaults are what a limit is compared with where the file does not state it; for a limit that
// is not listed nothing is known, and stating it loosens.
var defaults = map[string]string{
	"assess.replicates":    "200",
	"assess.sample":        "100000",
	"gate.max_quarantined": strconv.FormatFloat(MaxQuarantined, 'g', -1, 64),
	"gate.allow_unchanged": "0", // the law of the masks
	"gate.max_lost":        "0",
}

// orDefault is the change with the default in the place of what the file does not say.
func (c *change) orDefault() *change {
	if d, ok := defaults[c.Path]; ok {
		return c.or(d)
	}
	return c
}

func (c *change) or(def string) *change {
	if c.Old == nil {
		c = &change{c.Change, c.pipeline}
		c.Old = &def
	}
	return c
}

func (c *change) loosensAssessment(names []string) bool {
	switch names[1] {
	case "every": // the difference of two snapshots tells of the records between them
		return len(c.pipeline.Assess.Emit) > 0 && !c.grows() && !c.longer()
	case "emit":
		return names[len(names)-1] != "jsonl" // which its owner alone may read
	case "replicates", "sample":
		return c.Now != "all" && !c.orDefault().grows()
	}
	return true
}

// What becomes of records that the gate refuses, the strictest last.
var onFail = []string{Alert, Hold, Stop, Withhold}

// ruleFields are the fields of a rule that may be added: none of these takes the place of what
// is refused without a rule, as max_unchanged does.
var ruleFields = []string{"column", "target", "knowledge", "max_risk", "min_rmse", "min_efficiency", "max_epsilon",
	"max_metric_epsilon", "max_linked", "max_correct_links", "min_k",
	"max_individual_risk", "max_changed", "max_entropy_lost", "max_posterior", "max_pmse", "max_replicated_uniques",
	"max_ks", "min_overlap",
	"max_attribute_disclosure", "max_expected_population", "max_expected_uniques", "combinations"}

func (c *change) loosensGate(names []string) bool {
	field := names[len(names)-1]
	switch {
	case names[1] == "on_fail":
		was, now := len(onFail)-2, slices.Index(onFail, c.Now) // stop and withhold are the defaults, and alike
		if c.Old != nil && slices.Contains(onFail, *c.Old) {
			was = min(was, slices.Index(onFail, *c.Old))
		}
		return now < was
	case names[1] == "allow_unguarded", names[1] == "allow_tables", names[1] == "rules" && field == "releases":
		return true // what earlier releases tell is left out
	case names[1] == "rules" && c.Added:
		return !slices.Contains(ruleFields, field)
	}
	return !c.orDefault().tighter(field)
}

// tighter reports whether a limit (max_risk, min_rmse, max_quarantined, …) is at least as
// strict as that of the file, or as the default.
func (c *change) tighter(field string) bool {
	switch {
	case strings.HasPrefix(field, "max_"), field == "allow_unchanged":
		return c.shrinks()
	case strings.HasPrefix(field, "min_"), field == "combinations":
		return c.grows()
	case c.within("max_exact"): // a greater distance has a greater share within it
		return field == "share" && c.shrinks() || field == "within" && c.grows()
	}
	return false
}

// within reports whether the setting is of a field of the given one.
func (c *change) within(field string) bool {
	n := len(c.Names)
	return n > 1 && c.Names[n-2] == field
}

func (c *change) grows() bool   { return c.compare(func(old, now float64) bool { return now >= old }) }
func (c *change) shrinks() bool { return c.compare(func(old, now float64) bool { return now <= old }) }

// compare compares two amounts, which must both be numbers or both percentages; of a limit of the
// gate, a percentage is a share.
func (c *change) compare(condition func(old, now float64) bool) bool {
	if c.Old == nil {
		return false
	}
	old, oldUnit, ok1 := amount(*c.Old)
	now, nowUnit, ok2 := amount(c.Now)
	if c.Names[0] == "gate" && oldUnit != nowUnit {
		old, now, oldUnit, nowUnit = share(old, oldUnit), share(now, nowUnit), "", ""
	}
	return ok1 && ok2 && oldUnit == nowUnit && condition(old, now)
}

func share(v float64, unit string) float64 {
	if unit == "%" {
		v /= 100
	}
	return v
}

func amount(text string) (v float64, unit string, ok bool) {
	text = strings.TrimSpace(text)
	if cut, percent := strings.CutSuffix(text, "%"); percent {
		text, unit = strings.TrimSpace(cut), "%"
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, unit, err == nil && v == v
}

// longer compares two lengths of time.
func (c *change) longer() bool {
	if c.Old == nil {
		return false
	}
	old, err1 := time.ParseDuration(*c.Old)
	now, err2 := time.ParseDuration(c.Now)
	return err1 == nil && err2 == nil && now >= old
}
