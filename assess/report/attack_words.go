package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

var (
	amount = figure.Amount
	share  = figure.Share
)

// pool returns the number of records among which the targets are sought.
func pool(a *attack.Result) int64 {
	if a.Sampled > 0 {
		return int64(a.Sampled)
	}
	return a.Records
}

// guessed returns the expected number of targets found by an intruder who picks a random record
// for each.
func guessed(a *attack.Result) float64 {
	if pool(a) <= 0 {
		return 0
	}
	return float64(a.Targets) / float64(pool(a))
}

// finding is the number of targets that one attack finds.
type finding struct {
	number float64
	of     int
	how    string
}

func (f finding) share() float64 {
	if f.of <= 0 {
		return 0
	}
	return f.number / float64(f.of)
}

// worstFinding is the attack that finds the greatest share of the targets; false if there
// was none.
func worstFinding(a *attack.Result) (worst finding, ok bool) {
	see := func(number float64, of int, how string) {
		if f := (finding{number, of, how}); !ok || f.share() > worst.share() {
			worst, ok = f, true
		}
	}
	if l := a.Linkage; l != nil {
		see(l.ExpectedCorrect, a.Targets, "by taking the nearest released record")
		if l.OneToOneCorrect != nil {
			see(*l.OneToOneCorrect, a.Targets, "by assigning a record of its own to every target")
		}
	}
	if b := a.Bayes; b != nil {
		see(b.Correct, b.WithRecord, "by the Bayesian intruder’s links")
	}
	if v := a.Averaging; v != nil && v.Linkage != nil && v.Linkage.Averaged != nil {
		see(v.Linkage.Averaged.ExpectedCorrect, a.Targets,
			"by taking the nearest mean of "+count(int64(v.Releases))+" releases")
	}
	return worst, ok
}

// undone returns the number of values that can be computed back with known masks, and their
// columns.
func undone(r *inversion.Result) (values int64, columns []string) {
	for _, c := range r.Columns {
		if !c.Passed {
			values += int64(c.Recovered)
			columns = append(columns, c.Name)
		}
	}
	for _, c := range r.Categories {
		if !c.Passed {
			values += int64(c.Recovered)
			columns = append(columns, c.Name)
		}
	}
	return values, columns
}

// surestCategory describes the probability with which a released category implies the original
// one, for the column where it is greatest; "" if there is none.
func surestCategory(r *inversion.Result) string {
	var most *inversion.CategoryResult
	for i := range r.Categories {
		if c := &r.Categories[i]; c.Posterior != nil && (most == nil || *c.Posterior > *most.Posterior) {
			most = c
		}
	}
	if most == nil {
		return ""
	}
	s := "Whoever knows the list of masks tells the original category of " + names([]string{most.Name}) +
		" with probability " + pretty(*most.Posterior, riskDigits) + " at most"
	if most.Rarest != nil {
		s += ", and that of the rarest one where it is released with " + pretty(*most.Rarest, riskDigits)
	}
	return s + "."
}

// findings are sentences about an attack, the worst first: recovered values are certain, linked
// respondents are likely, and respondents who stand out can be identified only by an intruder who
// knows that they are in the data. Respondents who stand out come before less than one linked
// respondent.
func findings(a *attack.Result) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if a.Inversion != nil {
		switch n, columns := undone(a.Inversion); {
		case n > 0:
			add("Whoever knows the list of masks computes %s of %s back.", plural(n, "value", "values"), names(columns))
		case len(columns) > 0:
			add("Whoever knows the list of masks can undo them on %s.", names(columns))
		}
	}
	var people, unique string
	few := false
	if f, ok := worstFinding(a); ok {
		of := plural(int64(f.of), "respondent", "respondents")
		switch {
		case f.of <= 0:
			people = "No respondent was sought."
		case f.number == 0:
			people, few = "Of "+of+" none is found.", true
		default:
			few = f.number < 1
			people = fmt.Sprintf("Of %s sought, %s found (%s) %s.", of, isAre(f.number), share(f.share()), f.how)
		}
	}
	if u := a.Uniqueness; u != nil {
		most := fmt.Sprintf("; whoever stands out most is found with probability %s.",
			pretty(u.MaxIndividualRisk, riskDigits))
		if a.Sampled > 0 {
			most = " in the sample." // the record that stands out most need not be in it
		}
		switch {
		case u.SampleUniques > 0:
			unique = fmt.Sprintf("%s alone with %s combination of %s",
				isAreOf(int64(u.SampleUniques), int64(u.Records)), theirs(int64(u.SampleUniques)), names(u.Keys)) + most
		case u.Count == uniqueness.CountReleased:
			unique = fmt.Sprintf("Every combination of %s is shared by at least %s records", names(u.Keys),
				amount(u.MinFrequency)) + most
		default:
			unique = fmt.Sprintf("Whoever knows %s of a respondent finds at least %s records that can be theirs", names(u.Keys),
				amount(u.MinFrequency)) + most
		}
	}
	household := ""
	if u := a.Uniqueness; u != nil && u.Household != nil && a.Sampled == 0 {
		household = fmt.Sprintf(
			"Of one household somebody is found with probability %s; %s are expected to be in a household of which somebody is found.",
			pretty(u.Household.MaxRisk, riskDigits), pretty(u.Household.ExpectedReidentifications, riskDigits)+" respondents")
	}
	persons := joinedWords(a)
	if few && a.Uniqueness != nil && a.Uniqueness.SampleUniques > 0 {
		people, unique = unique, people
	}
	for _, s := range []string{people, unique, persons, household} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	if a.Population != nil && a.Unfitted == "" {
		lines = append(lines, uniqueInPopulation(a.Population))
	}
	if a.Inversion != nil && a.Inversion.Passed &&
		!slices.ContainsFunc(a.Inversion.Columns, func(c inversion.ColumnResult) bool { return !c.Passed }) {
		lines = append(lines, "Nothing is computed back from the list of masks.")
	}
	if a.Inversion != nil {
		if s := surestCategory(a.Inversion); s != "" {
			lines = append(lines, s)
		}
	}
	if a.Referee != nil && a.Referee.Framework != nil {
		lines = append(lines, refereeLine(a.Referee))
	}
	if len(lines) == 0 {
		lines = append(lines, "No respondent was sought; what was measured is below.")
	}
	return lines
}

// joinedWords says what all records of a person tell together, or why that is not counted; "" if it was not asked for.
func joinedWords(a *attack.Result) string {
	if a.PersonsUnmeasured != "" {
		return "All records of a person are not counted together: " + a.PersonsUnmeasured + "."
	}
	if a.Uniqueness == nil || a.Uniqueness.Persons == nil {
		return ""
	}
	p := a.Uniqueness.Persons
	if p.Uniques > 0 {
		verb := "are"
		if p.Uniques == 1 {
			verb = "is"
		}
		return fmt.Sprintf("By all records together %s of %s %s alone (%s).", count(int64(p.Uniques)),
			plural(int64(p.Persons), "person", "persons"), verb, share(p.UniqueShare))
	}
	return fmt.Sprintf(
		"Whoever knows these keys of all records of a person finds at least %s whose records can be theirs.",
		plural(int64(math.Floor(p.MinFrequency)), "person", "persons"))
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// isAre returns a count with its verb.
func isAre(v float64) string {
	if v == 1 {
		return "1 is"
	}
	return amount(v) + " are"
}

func isAreOf(n, of int64) string {
	if n == 1 {
		return "1 of " + plural(of, "record", "records") + " is"
	}
	return count(n) + " of " + plural(of, "record", "records") + " are"
}

func theirs(n int64) string {
	if n == 1 {
		return "its"
	}
	return "their"
}

// names lists a few names in the form of a sentence.
func names(list []string) string {
	const most = 6
	if len(list) > most {
		return strings.Join(list[:most-1], ", ") + " and " + count(int64(len(list)-most+1)) + " more"
	}
	switch n := len(list); n {
	case 0:
		return "no column"
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
}

// inverted are the inversions in words.
var inverted = map[inversion.Kind]string{
	inversion.Identity:      "no mask moves the value",
	inversion.SmallNoise:    "the noise is lost in rounding",
	inversion.SmallBias:     "the bias of so small a value is lost in rounding",
	inversion.Tier:          "its tier has too little noise",
	inversion.InsideBounds:  "within the bounds of a truncation nothing changes",
	inversion.ExchangedBack: "exchanged back with the one partner that it most probably had",
	inversion.Unswapped:     "no exchange can have reached the record",
	inversion.Rounding:      "the rounded value is the original",
	inversion.Heap:          "a value at a bound is the bound",
	inversion.HeapMoments:   "the one or two values at bounds follow from mean and SD",
	inversion.Shift:         "a shift, undone by the published mean",
	inversion.Scale:         "a scale, undone by the published mean",
	inversion.Standardise:   "a change of mean and SD, undone by the published ones",
	inversion.Reflect:       "a reflection, undone by the published mean and SD",
	inversion.OnLattice:     "the noise is small against the step of its usual values",
	inversion.ToldApart:     "no other usual value is near",
	inversion.Luck:          "the released value, where masks may have left it",
}

func inversionWords(k inversion.Kind) string {
	if s, ok := inverted[k]; ok {
		return s
	}
	return string(k)
}

// intruder writes the sentences that the page's section about intruders begins with.
func (s *summary) intruder(a *attack.Result) {
	v := viewAttack(a, attackPath)
	if v == nil {
		return
	}
	s.Line(s.bold("Intruder"))
	for _, text := range append([]string{v.Headline}, append(v.Lines, v.Basis)...) {
		for _, l := range wrap(s.terminalText(text), s.Width-4) {
			s.Line("  " + l)
		}
	}
	s.Line("")
}

// targetsText says how many respondents an attack looks for, among how many records and by
// which columns.
func targetsText(a *attack.Result) string {
	among := plural(a.Records, "record", "records")
	if a.Sampled > 0 {
		among = "a sample of " + count(int64(a.Sampled)) + " of the " + among
	}
	if a.Linkage == nil && a.Bayes == nil {
		return "an attack on " + among
	}
	s := plural(int64(a.Targets), "respondent", "respondents") + " sought among " + among
	if keys := slices.Concat(a.Keys, a.Categorical); len(keys) > 0 {
		s += " by " + names(keys)
	}
	return s
}

// identityRule says how what a rule about the respondents found and its limit are
// written, and what the numbers count.
func identityRule(rule assess.RuleVerdict) (found, limit figure.Writing, counts func(assess.Float) string, ok bool) {
	one, many := "value", "values"
	m := assess.RespondentMeasureNamed(rule.Measure)
	switch {
	case rule.Measure == "inversion":
		found, limit = figure.Counted, figure.Counted
	case m == nil:
		return nil, nil, nil, false
	default:
		found, limit = headline.Value(m), headline.Limit(m)
		if one, many = m.One, m.Many; rule.Persons && many != "" {
			one, many = "person", "persons"
		}
	}
	counts = func(v assess.Float) string {
		switch {
		case math.IsNaN(float64(v)):
			return ", not measured"
		case many == "":
			return ""
		case v == 1:
			return " " + one
		}
		return " " + many
	}
	return found, limit, counts, true
}
