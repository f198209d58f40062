package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// counted returns the keys whose combinations are counted.
func (d *Data) counted() []CategoricalColumn {
	if d.Counted != nil {
		return d.Counted
	}
	return d.Categorical
}

// uniqueness counts combinations: from the snooper's side, or, if asked for, from the released
// record. Keys that cannot be counted from the snooper's side are left out by name.
func (a *attack) uniqueness(ctx context.Context) (err error) {
	data := uniqueness.Data{Sensitive: codes(a.d.Sensitive), Household: a.d.Household, Weights: a.d.Weights}
	if a.r.Sampled > 0 {
		each := float64(a.d.Records) / float64(a.n)
		data.Weights = make([]float64, a.n)
		for i := range data.Weights {
			data.Weights[i] = each
			if a.d.Weights != nil {
				data.Weights[i] *= a.d.Weights[i]
			}
		}
	}
	a.r.Weighted, a.r.Apart = a.d.Weights != nil, a.d.Apart
	if a.d.Released {
		data.Keys = codes(a.d.counted())
		data.Person = a.persons("")
		a.r.Uniqueness, err = uniqueness.Measure(ctx, data, *a.o.Uniqueness)
		return err
	}
	s := a.d.snooped()
	a.r.Uncounted, a.r.TwoReadings = append(a.r.Uncounted, s.uncounted...), append(a.r.TwoReadings, s.twoReadings...)
	a.r.Told = s.told
	if len(s.Keys) == 0 {
		return nil
	}
	data.Keys, data.Known, data.Laws = s.Keys, s.Known, s.Laws
	data.Person = a.persons(s.apart())
	first, err := uniqueness.Measure(ctx, data, *a.o.Uniqueness)
	if errors.Is(err, uniqueness.ErrPairs) {
		return a.withoutDrawn(ctx, data)
	}
	if err != nil || len(s.twoReadings) == 0 {
		a.r.Uniqueness = first
		return err
	}
	data.Known = s.others
	second, err := uniqueness.Measure(ctx, data, *a.o.Uniqueness)
	if err != nil {
		return err
	}
	a.r.Uniqueness = uniqueness.Worse(first, second, data.Household, *a.o.Uniqueness)
	return nil
}

// persons returns who each record is of, for what they disclose together; nil if that is not asked for, or cannot be
// counted, which the result then says. why is what keeps it from being counted, "" if nothing does.
func (a *attack) persons(why string) []int32 {
	switch {
	case a.d.Person == nil:
		return nil
	case a.r.Sampled > 0:
		why = "a sample does not hold all records of a person (assess.sample: all)"
	}
	if a.r.PersonsUnmeasured = why; why != "" {
		return nil
	}
	return a.d.Person
}

// lawful returns the names of the keys that are drawn at random.
func lawful(data uniqueness.Data) (list []string) {
	for j, law := range data.Laws {
		if law != nil {
			list = append(list, data.Keys[j].Name)
		}
	}
	return list
}

// names quotes and joins names.
func names(list []string) string {
	quoted := make([]string, len(list))
	for i, name := range list {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// withoutDrawn counts by the keys that are not drawn at random, and says that the others are left
// out because their posterior would take too long.
func (a *attack) withoutDrawn(ctx context.Context, data uniqueness.Data) (err error) {
	some := data
	some.Keys, some.Known, some.Laws = nil, nil, nil
	for j, law := range data.Laws {
		if law != nil {
			a.r.Uncounted = append(a.r.Uncounted,
				Uncounted{
					data.Keys[j].Name, "is drawn at random, and too many pairs of records agree for its posterior to be computed"})
			continue
		}
		some.Keys, some.Known = append(some.Keys, data.Keys[j]), append(some.Known, data.Known[j])
	}
	if len(some.Keys) > 0 {
		a.r.Uniqueness, err = uniqueness.Measure(ctx, some, *a.o.Uniqueness)
	}
	return err
}

// knownFrom returns what a snooper knows of a key when the masks are not known. If each original
// category is released as one and the same category, wherever it is not missing, this is taken
// as a coding that the snooper knows too. Else the masks are unknown, and there are two readings:
// the original category as it stands, and the category that it became most often. Either way a
// record that contradicts its own respondent counts as a candidate, and of both readings the
// smaller k holds for each respondent.
func knownFrom(c *CategoricalColumn) (known *Known, other []int32) {
	if c.Released == nil {
		return &Known{Codes: c.Original}, nil
	}
	coded, same := uniqueness.Coded(c.Original, c.Released)
	if same {
		return &Known{Codes: coded}, nil
	}
	return &Known{Codes: c.Original}, coded
}

// Uncounted is a key that is not counted from the snooper's side.
type Uncounted struct {
	Name string `json:"name"`
	Why  string `json:"why" doc:"what is not covered"`
}

// uncountedWords says which keys are not counted, and why; "" if all are.
func (r *Result) uncountedWords() string {
	var words []string
	for _, u := range r.Uncounted {
		words = append(words, fmt.Sprintf("%q %s", u.Name, u.Why))
	}
	switch {
	case len(words) > 0:
		return "k is over all keys, and cannot be counted: " + strings.Join(words, "; ")
	case r.PersonsUnmeasured != "":
		return "k is over all records of a person (uniqueness.person), and cannot be counted: " + r.PersonsUnmeasured
	}
	return ""
}

// counted reports whether k and the individual risk are measured as they are asked for: by all keys, and by all records
// of a person.
func (r *Result) counted() bool {
	return r.Uniqueness != nil && len(r.Uncounted) == 0 && r.PersonsUnmeasured == ""
}

// leastK returns the least k of records, and of persons where they are counted.
func (r *Result) leastK() float64 {
	if p := r.Uniqueness.Persons; p != nil {
		return min(r.Uniqueness.MinFrequency, p.MinFrequency)
	}
	return r.Uniqueness.MinFrequency
}

// mostRisk returns the greatest individual risk of records, and of persons where they are counted.
func (r *Result) mostRisk() float64 {
	if p := r.Uniqueness.Persons; p != nil {
		return max(r.Uniqueness.MaxIndividualRisk, p.MaxIndividualRisk)
	}
	return r.Uniqueness.MaxIndividualRisk
}

// linkedShare returns the share of respondents who are found by linkage, or by the counted keys
// if these find more.
func (r *Result) linkedShare() (share float64, measured bool) {
	byKeys, counted := r.foundByKeys()
	switch {
	case r.PersonsUnmeasured != "": // what records tell together
		return 0, false
	case r.Linkage != nil:
		return max(r.Linkage.CorrectShare, byKeys), true
	case len(r.Uncounted) > 0: // keys that neither part covers
		return 0, false
	}
	return byKeys, counted
}

// foundByKeys returns the share of respondents who are expected to be found by the counted keys,
// if the snooper names one of the candidates: the mean of 1/k, over records or over persons with all their records,
// whichever is greater. It is not measured if k was not counted from the snooper's side.
func (r *Result) foundByKeys() (share float64, measured bool) {
	u := r.Uniqueness
	if u == nil || u.Count != uniqueness.CountSnooper || len(u.SampleFrequency) == 0 {
		return 0, false
	}
	for _, k := range u.SampleFrequency {
		share += 1 / k
	}
	if share /= float64(len(u.SampleFrequency)); u.Persons != nil {
		share = max(share, u.Persons.Found)
	}
	return share, true
}

// counting returns the column with which a key is counted, in which declared codes for missing values are categories;
// the key itself if it is not counted.
func (a *attack) counting(c *CategoricalColumn) *CategoricalColumn {
	list := a.d.counted()
	i := slices.IndexFunc(list, func(k CategoricalColumn) bool { return k.Name == c.Name })
	if i < 0 || list[i].Known != nil && list[i].Known.Not != "" {
		return c
	}
	return &list[i]
}

// known returns the codes that a snooper compares with the released ones.
func (c *CategoricalColumn) known() []int32 {
	switch {
	case c.Known != nil && c.Known.Law == nil && c.Known.Not == "":
		return c.Known.Codes
	case c.Known == nil:
		known, _ := knownFrom(c)
		return known.Codes
	}
	return c.Original
}

// Pair returns a column that masks have changed, for measures of what is lost. Its categories are
// compared in the coding that the masks publish: a recoding changes names, and no record.
func (c *CategoricalColumn) Pair() loss.CategoryPair {
	return loss.CategoryPair{Name: c.Name, Original: c.Original, Released: c.Released, Coded: c.published()}
}

// published returns the original categories in the coding of the release: by the recodings among
// the masks, or as the data show it if each category is released as one, which is new or its own.
func (c *CategoricalColumn) published() []int32 {
	switch {
	case c.Released == nil:
		return c.Original
	case c.Known != nil && c.Known.Codes != nil:
		return c.Known.Codes
	case c.Recoded != nil:
		return c.Recoded
	case c.Known != nil:
		return c.Original
	}
	if coded, same := uniqueness.Coded(c.Original, c.Released); same && renames(c.Original, coded) {
		return coded
	}
	return c.Original
}

// renames reports whether a coding keeps each category or gives it a new name. A draw among the
// categories can look like a coding where each is rare, but makes no new names.
func renames(original, coded []int32) bool {
	names := map[int32]bool{}
	for _, x := range original {
		names[x] = true
	}
	for i, x := range original {
		if coded[i] != x && names[coded[i]] {
			return false
		}
	}
	return true
}
