package referee

import (
	"context"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
)

// control finds out whether the control records can serve as such: whether they are not among the original ones, and
// whether they are of the same population.
func (r *run) control(ctx context.Context) error {
	r.strange()
	m := r.d.Len(Control)
	if m == 0 {
		r.warn(
			"There are no control records: what the release tells of anybody cannot be told from what it tells of its own records, so risks are success rates, upper bounds.")
		return nil
	}
	r.usable = true
	r.overlap()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.usable && m < leastTargets {
		r.usable = false
		r.warn("There are fewer than 10 control records: risks are not corrected.")
	}
	r.samePopulation()
	r.r.Controlled = r.usable
	return nil
}

func (r *run) warn(format string, args ...any) {
	r.r.Warnings = append(r.r.Warnings, fmt.Sprintf(format, args...))
}

// strange warns of columns by which released and original records cannot be compared.
func (r *run) strange() {
	for i := range r.d.Columns {
		c := &r.d.Columns[i]
		if c.Numeric {
			continue
		}
		in := map[int32]bool{}
		for _, v := range c.Sides[Original].Codes {
			in[v] = true
		}
		common := false
		for _, v := range c.Sides[Released].Codes {
			common = common || v >= 0 && in[v]
		}
		if !common {
			r.warn(
				"No released category of %q occurs in the original (is it recoded, or a pseudonym?): the attacks see nothing by it, and an intruder who knows the recoding may see more.", c.Name)
		}
	}
}

// Of control records that are equal to an original record, more than mostOverlap beyond what is usual among the
// original records, significantly, means that some of them are original records.
const mostOverlap = 0.01

// overlap compares how many control records are equal to an original record with how many original records are equal
// to another one: if control records are other people of the same population, both shares are the same but for chance.
// Likewise no more control records are equal to a released record than to an original one, unless the release was made
// of them.
func (r *run) overlap() {
	columns := make([]int, len(r.d.Columns))
	for j := range columns {
		columns[j] = j
	}
	var hashes [2][]uint64
	seen := map[uint64]*[2]int32{} // times among original and released records
	for k, s := range []Side{Original, Control} {
		for _, i := range sample(r.d.Len(s), moreTargets*r.o.Attempts, r.draws(30+uint64(k))) {
			h := r.d.hash(columns, s, i)
			hashes[k] = append(hashes[k], h)
			seen[h] = new([2]int32)
		}
	}
	for k, s := range []Side{Original, Released} {
		for i := range int32(r.d.Len(s)) {
			if c := seen[r.d.hash(columns, s, i)]; c != nil {
				c[k]++
			}
		}
	}
	twins := func(k int, side int, but int32) (n float64) {
		for _, h := range hashes[k] {
			if seen[h][side] > but {
				n++
			}
		}
		return n
	}
	n, m := float64(len(hashes[0])), float64(len(hashes[1]))
	among := twins(1, 0, 0)
	r.judgeOverlap("an original", among, m, twins(0, 0, 1)/n, n) // an original record is found itself
	usual := among / m * max(1, float64(r.d.Len(Released))/float64(r.d.Len(Original)))
	r.judgeOverlap("a released", twins(1, 1, 0), m, min(1, usual), m)
}

// judgeOverlap warns if more of m control records than usual (a share of n records) are equal to records of another
// file.
func (r *run) judgeOverlap(file string, equal, m, usual, n float64) {
	q := equal / m
	pooled := (equal + usual*n + 1) / (n + m + 2)
	if !r.usable || (q-usual)/math.Sqrt(pooled*(1-pooled)*(1/n+1/m)) <= 3 {
		return
	}
	words := fmt.Sprintf(
		"%.0f of %.0f control records are equal to %s record in all columns compared, more than chance explains", equal, m,
		file)
	if q-usual > mostOverlap {
		r.usable = false
		r.warn("%s: they were used for the release, it seems, and are no control. Risks are not corrected by them.", words)
		return
	}
	r.warn("%s: risks may be understated. Take them out of the control file.", words)
}

// reversed finds out whether control records are nearer to the release than original ones, by an interval of 99.9 %:
// then the release was made of them, or the files were taken for one another.
func (r *run) reversed(context.Context) error {
	if m := r.r.Membership; r.usable && m.AUC != nil && m.AUC.Value+(m.AUC.Upper-m.AUC.Value)*quantile(0.999)/r.z < 0.5 {
		r.usable, r.r.Controlled = false, false
		r.warn(
			"Control records are nearer to the release than original ones: it seems to be made of them, or the files are taken for one another. Risks are not corrected by them.")
	}
	return nil
}

// samePopulation warns of columns whose distributions among original and control records differ by more than chance: a
// control record may then be harder or easier to attack for another reason than that it was not used.
func (r *run) samePopulation() {
	for i := range r.d.Columns {
		c := &r.d.Columns[i]
		a, b := c.Sides[Original], c.Sides[Control]
		n, m := float64(a.len()), float64(b.len())
		var differ bool
		var by float64
		if c.Numeric {
			d := loss.DistanceOf(a.Numbers, b.Numbers)
			// Kolmogorov's limit at a probability of 2·exp(−2·2.3²) = 5·10⁻⁵.
			by, differ = d.KS, d.KS > 2.3*math.Sqrt((n+m)/(n*m))
		} else {
			by, differ = categoriesDiffer(a.Codes, b.Codes)
		}
		if differ && by > 0.05 {
			r.warn(
				"Original and control records differ in %q by %.2f: they are not of the same population, and the correction by control records may be wrong.", c.Name, by)
		}
	}
}

// categoriesDiffer returns the greatest difference of the shares of a category, and whether it is significant for the
// number of categories.
func categoriesDiffer(a, b []int32) (most float64, significant bool) {
	counts := map[int32][2]float64{}
	for k, codes := range [2][]int32{a, b} {
		for _, c := range codes {
			v := counts[c]
			v[k]++
			counts[c] = v
		}
	}
	n, m := float64(len(a)), float64(len(b))
	limit := quantile(1 - 1e-4/float64(len(counts)))
	for _, v := range counts {
		p := (v[0] + v[1]) / (n + m)
		if d := math.Abs(v[0]/n - v[1]/m); d > most {
			most = d
			significant = d > limit*math.Sqrt(p*(1-p)*(1/n+1/m))
		}
	}
	return most, significant
}
