package referee

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Framework orders the findings by the clauses of ISO/IEC 27559:2022, and by the criteria of the European guidance.
// What the program cannot know is stated by the user, or said not to be stated.
type Framework struct {
	Actor    string      `json:"actor" doc:"who is judged: whoever would make the attacks"`
	Clauses  []Clause    `json:"clauses" doc:"by the clauses of ISO/IEC 27559:2022"`
	Criteria []Criterion `json:"criteria" doc:"the three criteria of the European guidance (WP216)"`
}

// Clause is what is known of one clause.
type Clause struct {
	Clause   string   `json:"clause"`
	Stated   string   `json:"stated" doc:"what the user states, or: not stated"`
	Measured []string `json:"measured,omitempty" doc:"what was measured"`
}

// Criterion says what was found of one criterion.
type Criterion struct {
	Criterion string `json:"criterion"`
	// Found is absent if nothing was measured.
	Found    *bool  `json:"found,omitempty" doc:"whether attacks on original records succeed more often than on control records, beyond the interval (without control records: whether the interval of the success rate lies above the guess at random); absent if it was not measured. False is no proof: another attack may succeed"`
	Measured string `json:"measured"`
}

// NotStated stands for what the user has not stated.
const NotStated = "not stated"

// ClauseNames are the clauses that a user may state something about.
var ClauseNames = []string{"context", "threat", "data", "identifiability", "mitigation", "governance"}

// statement returns what the user states of a clause.
func (o *Options) statement(clause string) string {
	if s := strings.TrimSpace(o.Stated[clause]); s != "" {
		return s
	}
	return NotStated
}

func (r *run) framework() {
	r.r.Framework = &Framework{
		Actor: NotStated, Criteria: []Criterion{r.singlingCriterion(), r.linkCriterion(), r.inferenceCriterion()}}
	f := r.r.Framework
	if s := strings.TrimSpace(r.o.Actor); s != "" {
		f.Actor = s
	}
	measured := map[string][]string{
		"threat":          r.threat(),
		"data":            r.dataWords(),
		"identifiability": r.identifiability(),
		"mitigation":      {"The masks or the model behind the release are not known to this measurement."},
	}
	for _, clause := range ClauseNames {
		f.Clauses = append(f.Clauses, Clause{Clause: clause, Stated: r.o.statement(clause), Measured: measured[clause]})
	}
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strconv.Quote(n)
	}
	return strings.Join(list, ", ")
}

func (r *run) columnNames(columns []int) (names []string) {
	for _, j := range columns {
		names = append(names, r.d.Columns[j].Name)
	}
	return names
}

func (r *run) threat() []string {
	list := []string{
		"Of a person sought the attacker knows " + quoted(r.columnNames(r.known)) +
			", and holds the whole release; of a secret among them all others.",
		"The attacker does not know the masks or the model, takes the nearest record by Gower’s distance, and combines no other sources: who does may find more.",
	}
	if r.aux != nil {
		list = append(list, fmt.Sprintf("Two data sets of the attacker hold %s, and %s.", quoted(r.columnNames(r.aux[0])),
			quoted(r.columnNames(r.aux[1]))))
	}
	return list
}

func (r *run) dataWords() []string {
	var numeric, lacking []string
	for j, c := range r.d.Columns {
		if c.Numeric {
			numeric = append(numeric, c.Name)
		}
		if r.lacking[j] {
			lacking = append(lacking, c.Name)
		}
	}
	n := r.r.Records
	list := []string{
		fmt.Sprintf("%d original, %d released and %d control records were compared by %d columns, %d of them numeric.",
			n.Original, n.Released, n.Control, len(r.d.Columns), len(numeric))}
	if len(lacking) > 0 {
		list = append(list, "Values are missing in "+quoted(lacking)+".")
	}
	return append(list, "Each record is judged by itself: several records of one respondent are not put together.")
}

func (r *run) identifiability() (list []string) {
	for _, c := range r.r.Framework.Criteria {
		list = append(list, capital(c.Criterion)+": "+c.Measured)
	}
	if c := r.r.Closest; c != nil && c.Share != nil {
		list = append(list,
			fmt.Sprintf(
				"Distance to the closest record: %s of the released records are nearest to an original one, %s if nothing is memorised.", percent(c.Share.Share), percent(*c.Expected)))
	}
	if m := r.r.Membership; m != nil && m.AUC != nil {
		list = append(list,
			fmt.Sprintf(
				"Membership: an original record is nearer to the release than a control record with probability %.3f (%.3f to %.3f), 0.5 if nothing is told.", m.AUC.Value, m.AUC.Lower, m.AUC.Upper))
	}
	return list
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func percent(x float64) string { return strconv.FormatFloat(math.Round(1000*x)/10, 'f', -1, 64) + " %" }

// criterion describes that of some outcomes whose excess is surest. Since it is the surest of several, intervals are
// widened as Bonferroni did before an excess counts as found.
func (r *run) criterion(name string, names []string, outcomes []*Outcome) Criterion {
	c := Criterion{Criterion: name, Measured: "not measured."}
	measured := 0
	for _, o := range outcomes {
		if o != nil && o.Attack != nil {
			measured++
		}
	}
	z := quantile(1 - (1-r.o.Level)/float64(max(1, measured)))
	at, most := -1, math.Inf(-1)
	for i, o := range outcomes {
		switch {
		case o == nil:
		case o.Attack != nil:
			if e := r.excess(o, z); e > most {
				at, most = i, e
			}
		case at < 0 && o.Not != "":
			c.Measured = "not measured: " + o.Not + "."
		}
	}
	if at < 0 {
		return c
	}
	o, found := outcomes[at], most > 0
	if r.usable && o.Control != nil {
		c.Measured = fmt.Sprintf("%s succeeds for %s of the attacks, on control records for %s; risk %.3f (%.3f to %.3f)",
			names[at], percent(o.Attack.Share), percent(o.Control.Share), o.Risk.Value, o.Risk.Lower, o.Risk.Upper)
	} else {
		c.Measured = fmt.Sprintf("%s succeeds for %s of the attacks (%s to %s), which is not corrected by control records",
			names[at], percent(o.Attack.Share), percent(o.Attack.Lower), percent(o.Attack.Upper))
	}
	if !found {
		c.Measured += ": no more than by chance in this attack; another may succeed"
	}
	c.Measured += "."
	c.Found = &found
	return c
}

// excess returns the lower end of what attacks find beyond control records, or beyond guesses at random where no
// control records can serve.
func (r *run) excess(o *Outcome, z float64) float64 {
	again := func(x *Rate) *Rate { return rate(x.Attempts, x.Successes, z) }
	other := o.Baseline
	if r.usable && o.Control != nil {
		other = o.Control
	}
	if other == nil {
		return again(o.Attack).Lower
	}
	a, b := again(o.Attack), again(other)
	return (a.centre-b.centre)/(1-b.centre) - halfRisk(a, b)
}

func (r *run) singlingCriterion() Criterion {
	s := r.r.SinglingOut
	return r.criterion("singling out", []string{"a predicate about one column", "a predicate about several columns"},
		[]*Outcome{s.Univariate, s.Multivariate})
}

func (r *run) linkCriterion() Criterion {
	return r.criterion("linkability", []string{"a link of two data sets"}, []*Outcome{r.r.Linkability})
}

func (r *run) inferenceCriterion() Criterion {
	var names []string
	var outcomes []*Outcome
	for i := range r.r.Inference {
		names, outcomes = append(names, "a guess of "+strconv.Quote(r.r.Inference[i].Column)),
			append(outcomes, &r.r.Inference[i].Outcome)
	}
	for i := range r.r.Rarest {
		names,
			outcomes = append(names, "a guess of "+strconv.Quote(r.r.Rarest[i].Column)+" by a combination that occurs once"),
			append(outcomes, &r.r.Rarest[i].Outcome)
	}
	return r.criterion("inference", names, outcomes)
}
