package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/privacy"
)

// source is a column of today's records before any mask, as a release has masked it or left it.
type source struct {
	release int // 0: this one
	name    string
	asItIs  bool
	values  []float64
}

// FindCopies looks, once all records are masked, for columns that carry the same values as another one, or a linear
// function of them (another unit), in this release or an earlier one: each release of such a column is one of the
// other's values, and their ε add up. It looks at numbers that are measured and at columns that leave as they are; of
// earlier releases also at masked categories. It must come before the figures of differential privacy are taken.
func (pl *Plan) FindCopies(p assess.Pairs) {
	if !pl.Config.WantsPrivacy() || p.Len() == 0 {
		return
	}
	var list []source
	for c, column := range pl.Assessed {
		if !column.Withheld {
			list = append(list, source{name: column.Name, asItIs: !column.Masked, values: p.Original[c]})
		}
	}
	for i, name := range p.BesideColumns {
		if !slices.Contains(pl.Masked, name) {
			list = append(list, source{name: name, asItIs: true, values: p.Beside[i]})
		}
	}
	for _, of := range p.Earlier {
		e, _ := pl.earlierColumn(of.Release, of.Of)
		if e == nil || e.Repeats || of.Piece > 0 {
			continue
		}
		if masked := slices.Contains(e.plan.Masked, of.Of); masked == of.Before {
			list = append(list, source{release: of.Release, name: of.Of, asItIs: !masked, values: of.Values})
		}
	}
	pl.copies = map[string][]copied{}
	for _, s := range list {
		if s.release > 0 || s.asItIs {
			continue
		}
		for _, o := range list {
			if o.name == s.name { // counted by its name
				continue
			}
			if slope, same := sameSource(s.values, o.values); same {
				pl.copies[s.name] = append(pl.copies[s.name], copied{o.release, o.name, o.asItIs, slope})
			}
		}
	}
}

// copied is a column that carries the values of another one, slope times.
type copied struct {
	release int
	name    string
	asItIs  bool
	slope   float64
}

// sameSource reports whether b is a linear function of a in the records that have both, which are at least half of
// those that have the one of them that fewer have, with its slope; of categories, whether they are the same ones.
func sameSource(a, b []float64) (slope float64, same bool) {
	var n, na, nb, ma, mb, saa, sbb, sab float64
	categories, equal := false, true
	for i, x := range a {
		y := b[i]
		if x == x {
			na++
		}
		if y == y {
			nb++
		}
		if x != x || y != y {
			continue
		}
		n++
		categories, equal = categories || x >= assess.Categories || y >= assess.Categories, equal && x == y
		dx, dy := x-ma, y-mb
		ma, mb = ma+dx/n, mb+dy/n
		saa, sbb, sab = saa+dx*(x-ma), sbb+dy*(y-mb), sab+dx*(y-mb)
	}
	switch {
	case n < 2 || 2*n < min(na, nb) || saa == 0 || sbb == 0:
		return 0, false
	case categories:
		return 1, equal
	}
	const rounding = 1e-9
	return math.Abs(sab) / saa, sab*sab >= (1-rounding)*saa*sbb
}

// stated is what one release has by itself.
type stated struct {
	privacy *assess.Privacy
	losses  map[string]privacy.Loss
	at      string
}

// statedAt keeps the figures of a release as they are now.
func statedAt(p *assess.Privacy, a *privacyAccount, at string) stated {
	kept := *p
	kept.Columns = slices.Clone(p.Columns)
	return stated{&kept, maps.Clone(a.losses), at}
}

// composeCopies adds to the figures of each column those of the columns that carry its values, of which releases have
// by itself what is given by number, this one by 0. p has the figures of columns by their names.
func (pl *Plan) composeCopies(p *assess.Privacy, a *privacyAccount, releases map[int]stated) {
	for i := range p.Columns {
		c := &p.Columns[i]
		for _, o := range pl.copies[c.Column] {
			of, known := releases[o.release]
			if !known {
				continue // this release is judged alone
			}
			name := fmt.Sprintf("%s, which carries the same values (%s),", o.name, of.at)
			loss, has := of.losses[o.name]
			own, still := a.losses[c.Column]
			switch {
			case o.asItIs:
				c.PrivacyLoss = assess.NoLoss(name + " leaves as it is")
				c.Epsilon = assess.Float(math.Inf(1))
				delete(a.losses, c.Column)
			case !still:
			case !has:
				c.PrivacyLoss = assess.NoLoss(name + " has no ε")
				delete(a.losses, c.Column)
			default:
				a.losses[c.Column] = own.And(loss)
				c.PrivacyLoss = a.stated(own.And(loss), a.rate)
			}
			was := of.privacy.Of(o.name)
			switch {
			case c.MetricNot != "":
			case was == nil || was.MetricNot != "":
				c.Metric, c.MetricNot = assess.Float(math.NaN()), name+" has no ε by distance"
			default:
				c.Metric += assess.Float(o.slope) * was.Metric
				c.Distance = assess.Float(roundToDigit(math.Sqrt2 / float64(c.Metric)))
			}
		}
	}
}
