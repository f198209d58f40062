package suppression

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// hideStrictly is Hide if a missing cell is no value.
func (s *Search) hideStrictly() (map[int32][]lacking, *decision.Refusal) {
	r := &strictly{Search: s, states: make([][]lacking, len(s.classes.tuples))}
	for class := range r.states {
		r.states[class] = []lacking{{s.lacks[class], s.classes.counts[class]}}
	}
	all := uint16(len(s.keep) - 1)
	unknown := s.unknown()
	// To hide cells by some keys can leave fewer candidates by others. Each turn hides more, and
	// without any cells everything is safe. The last turn finds nothing to hide.
	for some := true; some; {
		some = false
		for _, set := range unknown {
			if s.stop() {
				return nil, nil
			}
			some = r.within(all&^set) || some
		}
	}
	if len(unknown) > 1 {
		r.giveBack(all, unknown)
	}
	plan := map[int32][]lacking{}
	for class, states := range r.states {
		for _, l := range states {
			if l.set != s.lacks[class] {
				plan[int32(class)] = append(plan[int32(class)], l)
			}
		}
	}
	return plan, nil
}

// strictly holds what is hidden so far: by class, how many records lack which keys.
type strictly struct {
	*Search
	states [][]lacking
}

// bunching returns the records as a snooper sees them who knows the keys within a set, and the kind of each class.
func (r *strictly) bunching(within uint16) (*bunching, []int32) {
	var kinds tupleTable
	var lacks []uint16
	var members []member
	kind := make([]int32, len(r.states))
	rest := ^within & uint16(len(r.keep)-1)
	for class, states := range r.states {
		k := kinds.add(r.classes.tuples[class].and(r.keep[rest]), 1)
		if kind[class] = k; int(k) == len(lacks) {
			lacks = append(lacks, r.lacks[class]&within)
		}
		for _, l := range states {
			members = append(members, member{k, l.set & within, l.n})
		}
	}
	return r.newBunching(within, kinds.tuples, lacks, members), kind
}

// within hides cells of the keys of a set until whoever knows these keys has k candidates. It reports whether it hid
// some.
func (r *strictly) within(keys uint16) bool {
	a, kind := r.bunching(keys)
	if a.unsafe(); len(a.left) == 0 {
		return false
	}
	a.gather()
	a.tidy()
	a.improve()
	type home struct {
		kind int32
		from uint16
	}
	moved := map[home][]lacking{}
	for at := range a.bunches {
		b := &a.bunches[at]
		for _, m := range b.members {
			if m.from != b.set {
				h := home{m.kind, m.from}
				moved[h] = append(moved[h], lacking{b.set, m.n})
			}
		}
	}
	for class, states := range r.states {
		var next []lacking
		add := func(set uint16, n int32) {
			if i := slices.IndexFunc(next, func(l lacking) bool { return l.set == set }); i >= 0 {
				next[i].n += n
			} else if n > 0 {
				next = append(next, lacking{set, n})
			}
		}
		for _, l := range states {
			h := home{kind[class], l.set & keys}
			for len(moved[h]) > 0 && l.n > 0 {
				to := &moved[h][0]
				n := min(to.n, l.n)
				add(l.set|to.set, n)
				l.n -= n
				if to.n -= n; to.n == 0 {
					moved[h] = moved[h][1:]
				}
			}
			add(l.set, l.n)
		}
		r.states[class] = next
	}
	return len(moved) > 0
}

// safe reports whether everyone has k candidates by the keys that are known at a time.
func (r *strictly) safe(all uint16, unknown []uint16) bool {
	for _, set := range unknown {
		a, _ := r.bunching(all &^ set)
		if a.unsafe(); len(a.left) > 0 {
			return false
		}
	}
	return true
}

// giveBack shows cells that are not needed, all that some records of a class lack at a time or
// one by one, if there are few records.
func (r *strictly) giveBack(all uint16, unknown []uint16) {
	runs := mostWork / (8 * len(unknown) * len(r.states))
	for class := range r.states {
		for i := 0; i < len(r.states[class]); i++ {
			for j := range r.Weights {
				for bit := uint16(1) << j; i < len(r.states[class]) && (r.states[class][i].set&^r.lacks[class])&bit != 0; {
					if runs--; runs < 0 || r.stop() {
						return
					}
					before := r.states[class]
					next := slices.Clone(before)
					next[i].n--
					to := next[i].set &^ bit
					if next[i].n == 0 {
						next = slices.Delete(next, i, i+1)
					}
					if at := slices.IndexFunc(next, func(l lacking) bool { return l.set == to }); at >= 0 {
						next[at].n++
					} else {
						next = append(next, lacking{to, 1})
					}
					if r.states[class] = next; !r.safe(all, unknown) {
						r.states[class] = before
						break
					}
				}
			}
		}
	}
}
