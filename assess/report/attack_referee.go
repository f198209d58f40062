package report

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/intruder/referee"
)

// refereeView shows what a release tells of its records beyond what it tells of others, by the criteria of the European
// guidance and the clauses of ISO/IEC 27559.
type refereeView struct {
	Actor    string
	About    string
	Warnings []string
	Criteria []criterionView
	Attacks  []attackRow
	Tiles    []labelled
	Clauses  []referee.Clause
	Likeness *likenessView
}

type criterionView struct {
	Name, Words string
	Found       bool // an excess was found
}

type attackRow struct {
	Name  string
	Cells []cell // original, lower, upper, at random, control, risk, lower, upper
	Not   string
}

type likenessView struct {
	Not, LeftOut string
	Tiles        []labelled
	Marginals    []uniqueRow
	Pairs        []uniqueRow
}

func viewReferee(r *referee.Result, path string) *refereeView {
	v := &refereeView{Actor: r.Framework.Actor, Warnings: r.Warnings, Clauses: r.Framework.Clauses}
	v.About = fmt.Sprintf("%s each, over %s; %s original, %s released and %s control records; intervals of %s.",
		plural(int64(r.Attempts), "attack", "attacks"),
		plural(int64(len(r.Columns)), "column", "columns"), count(int64(r.Records.Original)),
		count(int64(r.Records.Released)), count(int64(r.Records.Control)), share(r.Level))
	for _, c := range r.Framework.Criteria {
		v.Criteria = append(v.Criteria,
			criterionView{Name: capital(c.Criterion), Words: capital(c.Measured), Found: c.Found != nil && *c.Found})
	}
	if s := r.SinglingOut; s != nil {
		v.attack("singling out by one column", path+"/singling_out/univariate", s.Univariate)
		v.attack("singling out by several columns", path+"/singling_out/multivariate", s.Multivariate)
	}
	v.attack("linkability", path+"/linkability", r.Linkability)
	for i := range r.Inference {
		v.attack("inference of "+r.Inference[i].Column, fmt.Sprintf("%s/inference/%d", path, i), &r.Inference[i].Outcome)
	}
	for i := range r.Rarest {
		v.attack(r.Rarest[i].Column+" by a combination that occurs once", fmt.Sprintf("%s/rarest/%d", path, i),
			&r.Rarest[i].Outcome)
	}
	v.closest(r.Closest, path+"/closest")
	v.membership(r.Membership, path+"/membership")
	v.Likeness = viewLikeness(r.Likeness, path+"/likeness")
	return v
}

// attack adds the row of an outcome.
func (v *refereeView) attack(name, path string, o *referee.Outcome) {
	if o == nil {
		return
	}
	row := attackRow{Name: name, Not: o.Not}
	rate := func(member string, r *referee.Rate) cell {
		if r == nil {
			return cell{Text: "–"}
		}
		return shareCell(path+"/"+member+"/share", r.Share)
	}
	row.Cells = []cell{rate("attack", o.Attack), rate("baseline", o.Baseline), rate("control", o.Control), {Text: "–"},
		{Text: "–"}, {Text: "–"}}
	if k := o.Risk; k != nil {
		row.Cells[3], row.Cells[4], row.Cells[5] = riskCell(path+"/risk/value", k.Value),
			riskCell(path+"/risk/lower", k.Lower), riskCell(path+"/risk/upper", k.Upper)
	}
	v.Attacks = append(v.Attacks, row)
}

// between writes an interval.
func between(i *referee.Interval) string {
	return pretty(i.Lower, riskDigits) + " to " + pretty(i.Upper, riskDigits)
}

func (v *refereeView) closest(c *referee.Closest, path string) {
	if c == nil {
		return
	}
	if c.Share != nil {
		v.Tiles = append(v.Tiles, labelled{"nearest to an original record", shareCell(path+"/share/share", c.Share.Share),
			fmt.Sprintf("of the released records (%s to %s); %s if nothing is memorised", share(c.Share.Lower),
				share(c.Share.Upper), share(*c.Expected))})
	}
	if c.Original.Same != nil {
		note := "of the released records, in all columns compared"
		if c.Control.Same != nil {
			note += "; to a control record: " + share(c.Control.Same.Share)
		}
		v.Tiles = append(v.Tiles,
			labelled{"equal to an original record", shareCell(path+"/original/same/share", c.Original.Same.Share), note})
	}
	if c.Original.Ratio != nil {
		note := "median of nearest by second nearest distance to original records"
		if c.Control.Ratio != nil {
			note += "; to control records: " + pretty(*c.Control.Ratio, riskDigits)
		}
		v.Tiles = append(v.Tiles, labelled{"distance ratio", optionalCell(path+"/original/ratio", c.Original.Ratio), note})
	}
}

func (v *refereeView) membership(m *referee.Membership, path string) {
	if m == nil || m.AUC == nil {
		return
	}
	v.Tiles = append(v.Tiles, labelled{"membership, AUC", riskCell(path+"/auc/value", m.AUC.Value),
		"probability that an original record is nearer to the release than a control record; 0.5: nothing is told; " +
			between(m.AUC)})
	v.Tiles = append(v.Tiles, labelled{"membership, advantage", riskCell(path+"/advantage/value", m.Advantage.Value),
		"original less control records that are called members; " + between(m.Advantage)})
}

func viewLikeness(l *referee.Likeness, path string) *likenessView {
	if l == nil {
		return nil
	}
	v := &likenessView{}
	if l.Not != "" {
		v.Not = capital(l.Not) + "."
	}
	if len(l.LeftOut) > 0 {
		v.LeftOut = "Not compared, with more than 1,000 categories: " + names(l.LeftOut) + "."
	}
	if l.Marginal != nil {
		v.Tiles = append(v.Tiles,
			labelled{"likeness of the columns", riskCell(path+"/marginal", *l.Marginal),
				"mean of 1 − KS or 1 − total variation distance"})
	}
	if l.Pairwise != nil {
		v.Tiles = append(v.Tiles,
			labelled{"likeness of pairs", riskCell(path+"/pairwise", *l.Pairwise), "mean over the pairs of columns"})
	}
	if p := l.Propensity; p != nil {
		t := labelled{"pMSE", riskCell(path+"/propensity/pmse", p.PMSE),
			"0: a regression tells no released record from an original; ¼: each"}
		if p.Ratio != nil {
			t.Note += "; " + pretty(*p.Ratio, riskDigits) + " times that of fresh draws"
		}
		v.Tiles = append(v.Tiles, t)
	}
	for i, m := range l.Marginals {
		at := fmt.Sprintf("%s/marginals/%d", path, i)
		v.Marginals = append(v.Marginals,
			uniqueRow{Name: m.Column, Cells: []cell{optionalCell(at+"/similarity", m.Similarity),
				shareCell(at+"/missing/0", m.Missing[0]), shareCell(at+"/missing/1", m.Missing[1])}})
	}
	for i, p := range l.Pairs {
		at := fmt.Sprintf("%s/pairs/%d", path, i)
		v.Pairs = append(v.Pairs,
			uniqueRow{Name: p.Columns[0] + ", " + p.Columns[1], Cells: []cell{{Text: measureWords[p.Measure]},
				optionalCell(at+"/original", p.Original), optionalCell(at+"/released", p.Released),
				optionalCell(at+"/similarity", p.Similarity)}})
	}
	return v
}

// measureWords are the measures of pairs in words.
var measureWords = map[string]string{"correlation": "correlation", "correlation_ratio": "correlation ratio",
	"cramers_v": "Cramér’s V"}

// refereeLine says in one sentence what the referee found.
func refereeLine(r *referee.Result) string {
	var found []string
	for _, c := range r.Framework.Criteria {
		if c.Found != nil && *c.Found {
			found = append(found, c.Criterion)
		}
	}
	switch {
	case len(found) == 0 && r.Controlled:
		return "No attack of these succeeds more often on original than on control records, but for chance; another may."
	case len(found) == 0:
		return "No attack of these succeeds more often than by chance; another may."
	case r.Controlled:
		return "The release tells more of its own records than of others: " + names(found) + "."
	}
	return "The release tells more than chance, by " + names(found) +
		"; without control records it is not known how much of this it tells of anybody."
}

func (t *attackTable) referee(v *refereeView) {
	if v == nil {
		return
	}
	t.title("What the release tells of its own records, and not of others")
	t.text("Judged: " + v.Actor + ". " + v.About)
	for _, c := range v.Criteria {
		t.text(c.Name + ": " + c.Words)
	}
	for _, r := range v.Attacks {
		if r.Cells[0].Text == "–" {
			continue
		}
		t.row("risk, "+r.Name, r.Cells[3].Text,
			fmt.Sprintf("%s to %s; right: %s of original, %s of control records, %s at random", r.Cells[4].Text, r.Cells[5].Text,
				r.Cells[0].Text, r.Cells[2].Text, r.Cells[1].Text)+after("; ", r.Not))
	}
	t.tiles(v.Tiles)
	if l := v.Likeness; l != nil {
		t.text(l.Not)
		t.tiles(l.Tiles)
	}
	for _, c := range v.Clauses {
		t.text(capital(c.Clause) + ", stated: " + c.Stated + ".")
	}
	t.Line("")
}

// models writes the regressions that were asked for.
func (t *attackTable) models(list []regressionView) {
	if len(list) == 0 {
		return
	}
	t.title("Regressions")
	for _, r := range list {
		t.text(r.Title + "." + after(" ", r.Left))
		for _, c := range r.Rows {
			t.row(c.Term, c.Released.Text, "in the original "+c.Original.Text+"; intervals overlap by "+c.Overlap.Text)
		}
	}
	t.Line("")
}
