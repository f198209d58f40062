package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/picture"
)

// uniqueView shows which records stand out by categorical keys.
type uniqueView struct {
	Keys         string
	Tiles        []labelled
	Risks        *twoSizes // records by their individual risk
	Violations   []uniqueRow
	Persons      []uniqueRow // persons below k
	Diversity    []uniqueRow
	Sizes        []uniqueRow
	Contribution []uniqueRow
	Combinations []uniqueRow
	Left         int64 // number of combinations that are in the JSON report only

	of int // number of records
}

type uniqueRow struct {
	Name  string
	Cells []cell
}

// mostCombinations bounds the rows of the table of uniques.
const mostCombinations = 60

// meaningOfK says what the smallest k counts.
func meaningOfK(u *uniqueness.Result) string {
	if u.Count == uniqueness.CountReleased {
		return "fewest records that share a combination of the keys"
	}
	return "fewest released records that can be one respondent’s"
}

func viewUniqueness(u *uniqueness.Result, path string) *uniqueView {
	v := &uniqueView{Keys: names(u.Keys), of: u.Records}
	v.Tiles = []labelled{
		{"k", amountCell(path+"/min_k", u.MinFrequency), meaningOfK(u)},
		{"records alone", whole(path+"/sample_uniques", int64(u.SampleUniques)),
			v.share(u.SampleUniques).Text + " of " + count(int64(u.Records))},
		{"greatest individual risk", riskCell(path+"/max_individual_risk", u.MaxIndividualRisk),
			"E(1/F | f), " + u.Estimator},
		{"re-identifications expected", amountCell(path+"/expected_reidentifications", u.ExpectedReidentifications),
			"sum of the individual risks"},
	}
	if h := u.Household; h != nil {
		v.Tiles = append(v.Tiles,
			labelled{"greatest household risk", riskCell(path+"/household/max_risk", h.MaxRisk), "that some member is found"},
			labelled{"by households", amountCell(path+"/household/expected_reidentifications", h.ExpectedReidentifications),
				"respondents expected to be found or to live with one who is"})
	}
	v.persons(u.Persons, path+"/persons")
	if s := u.SUDA2; s != nil {
		v.Tiles = append(v.Tiles,
			labelled{"greatest SUDA2 score", riskCell(path+"/suda2/max", s.Max), "DIS " + pretty(s.DISMax, riskDigits)},
			labelled{"mean SUDA2 score", riskCell(path+"/suda2/mean", s.Mean), "DIS " + pretty(s.DISMean, riskDigits)})
	}
	v.special(u.SUDA2, path+"/suda2")
	for _, k := range slices.Sorted(maps.Keys(u.Violations)) {
		at := below(path+"/violations", strconv.Itoa(k))
		v.Violations = append(v.Violations,
			uniqueRow{count(int64(k)), []cell{whole(at, int64(u.Violations[k])), v.share(u.Violations[k])}})
	}
	v.diversity(u, path)
	v.combinations(u.Combinations, path+"/combinations")
	v.draw(u.Risk)
	return v
}

// persons adds what is counted of all records of a person together.
func (v *uniqueView) persons(p *uniqueness.Persons, path string) {
	if p == nil {
		return
	}
	share := func(n int) cell { return cell{Text: share(float64(n) / float64(max(p.Persons, 1)))} }
	v.Tiles = append(v.Tiles,
		labelled{"joined k", amountCell(path+"/min_k", p.MinFrequency), meaningOfJoinedK(p)},
		labelled{"persons alone", whole(path+"/uniques", int64(p.Uniques)),
			share(p.Uniques).Text + " of " + count(int64(p.Persons)) + ", by all of their records together"},
		labelled{"greatest joined risk", riskCell(path+"/max_individual_risk", p.MaxIndividualRisk),
			"that a person is found by all records together"})
	for _, k := range slices.Sorted(maps.Keys(p.Violations)) {
		at := below(path+"/violations", strconv.Itoa(k))
		v.Persons = append(v.Persons,
			uniqueRow{count(int64(k)), []cell{whole(at, int64(p.Violations[k])), share(p.Violations[k])}})
	}
}

// meaningOfJoinedK says what the joined k counts.
func meaningOfJoinedK(p *uniqueness.Persons) string {
	s := "fewest persons whose records together can be one person’s"
	if p.AtLeast {
		s += "; too many records lack keys to be compared, so that it may be greater"
	}
	return s
}

// share returns a number of records as a share of all records.
func (v *uniqueView) share(n int) cell {
	if v.of <= 0 {
		return cell{Text: "–"}
	}
	return cell{Text: share(float64(n) / float64(v.of))}
}

// special adds the sets of keys that make records special uniques.
func (v *uniqueView) special(s *uniqueness.SUDA2, path string) {
	if s == nil {
		return
	}
	for i, n := range s.Sizes {
		v.Sizes = append(v.Sizes,
			uniqueRow{strconv.Itoa(i + 1), []cell{whole(fmt.Sprintf("%s/msus_by_size/%d", path, i), n)}})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Contribution)) {
		v.Contribution = append(v.Contribution,
			uniqueRow{name, []cell{shareCell(below(path+"/contribution", name), s.Contribution[name])}})
	}
}

// diversity adds the diversity of the sensitive columns, singly and together.
func (v *uniqueView) diversity(u *uniqueness.Result, path string) {
	row := func(at, name string, d uniqueness.Diversity) {
		v.Diversity = append(v.Diversity, uniqueRow{name, []cell{whole(at+"/distinct_min", int64(d.DistinctMin)),
			riskCell(at+"/entropy_min", d.EntropyMin), whole(at+"/recursive_min", int64(d.RecursiveMin))}})
	}
	for _, name := range slices.Sorted(maps.Keys(u.LDiversity)) {
		row(below(path+"/l_diversity", name), name, u.LDiversity[name])
	}
	if d := u.LDiversityMulti; d != nil {
		row(path+"/l_diversity_multi", "all together", *d)
	}
}

// combinations adds the sets of keys that make most records unique, in descending order.
func (v *uniqueView) combinations(list []uniqueness.Combination, path string) {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return list[j].Uniques - list[i].Uniques })
	for _, i := range order[:min(len(order), mostCombinations)] {
		c := list[i]
		v.Combinations = append(v.Combinations,
			uniqueRow{strings.Join(c.Keys, " × "), []cell{{Text: strconv.Itoa(len(c.Keys))},
				whole(fmt.Sprintf("%s/%d/uniques", path, i), int64(c.Uniques)), v.share(c.Uniques)}})
	}
	v.Left = int64(len(order) - len(v.Combinations))
}

// draw draws the number of records by individual risk. It draws nothing if the risks of the
// records are not available, as in a report that was read from a file.
func (v *uniqueView) draw(risk []float64) {
	if len(risk) == 0 {
		return
	}
	classes := picture.Risks(risk)
	most := 0
	for _, c := range classes {
		most = max(most, c.Records)
	}
	var bars []figure.Bar
	for _, c := range classes {
		bars = append(bars, figure.Bar{Label: "to " + trimmed(c.To), Length: figure.Part(float64(c.Records), float64(most)),
			Text: count(int64(c.Records)) + "  " + share(float64(c.Records)/float64(len(risk))), Strong: c.From >= 0.1})
	}
	v.Risks = pictures(func(width int) []byte {
		return figure.BarsSVG(
			"Records by the probability that they are found by their keys; the numbers stand beside the bars.", "risk",
			"records", bars, width)
	})
}
