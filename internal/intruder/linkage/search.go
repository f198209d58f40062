package linkage

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// query is the state of the search for one target.
type query struct {
	point []float64
	dims  []int32 // the coordinates that both the target and the records of the group have
	start float64 // the first terms of every sum: those of the coordinates that the records lack

	best float64 // the least sum so far, at first that of the target's own record
	ties int64   // number of records with this sum

	own           float64 // the sum of the target's own record
	nearer, level int64   // number of records that are nearer than the own record, and as near (itself included)
}

// aim initialises the query for target i, whose own record is at the sum own.
func (q *query) aim(s *space, i int, own float64) {
	*q = query{point: s.target(i), dims: q.dims[:0], best: own, own: own}
}

// enter prepares the query for a group of records that have the given coordinates.
func (q *query) enter(s *space, present []int32) {
	q.dims, q.start = q.dims[:0], 0
	for j, v := range q.point {
		has := len(present) > 0 && present[0] == int32(j)
		if has {
			present = present[1:]
		}
		switch {
		case math.IsNaN(v):
		case has:
			q.dims = append(q.dims, int32(j))
		default:
			q.start += s.lackingTerm(j, v)
		}
	}
}

func (q *query) complete() bool { return len(q.dims) == len(q.point) }

// offer updates the least sum and its ties with n records at the given sum.
func (q *query) offer(sum float64, n int64) {
	if sum < q.best {
		q.best, q.ties = sum, n
	} else if sum == q.best {
		q.ties += n
	}
}

// rank counts n records at the given sum as nearer than or as near as the target's own
// record.
func (q *query) rank(sum float64, n int64) {
	if sum < q.own {
		q.nearer += n
	} else if sum == q.own {
		q.level += n
	}
}

// method is the search method for the nearest records.
type method int

const (
	byCost method = iota
	byTree
	byBlocks
)

// The costs of the two methods, in comparisons of a target with a record, for
// byCost. Measured on two cores of an EPYC, four keys with noise of a tenth of
// their SD: 1,000 targets against 1,000,000 records take 0.46 s by the tree, most
// of it to build it, and 1.5 s by blocks (BenchmarkLinkage1000x1M); 100,000
// against 100,000 take 0.25 s by the tree (BenchmarkNearest100kTree), 0.35 s when
// the noise is as large as the SD, and by blocks 100 times as long on the same busy
// machine (BenchmarkNearest100kBrute: every pair). At 12 keys and noise as large as
// the SD, where a tree prunes least, the two are about even
// (BenchmarkNearest10k12Keys); with less noise the tree is 2 to 10 times as fast.
const (
	// treeBuild is the cost per record and level to build the tree.
	treeBuild = 12
	// treeVisit is the least cost per target to search the tree.
	treeVisit = 2000
)

// choose compares the cost to build and search a tree with the cost to compare every
// pair. A tree is never much slower: if it prunes nothing (many keys, much noise), it
// compares every pair as well, in runs of adjacent records.
func choose(m method, targets, records int) method {
	if m != byCost {
		return m
	}
	pairs := float64(targets) * float64(records)
	tree := treeBuild*float64(records)*math.Log2(float64(records)+1) + treeVisit*float64(targets)
	if tree < pairs {
		return byTree
	}
	return byBlocks
}

// blockValues is the number of coordinates in a block, 16 KiB of them: a block
// stays in the first-level cache while a run of targets passes over it.
const blockValues = 2048

// run is the number of targets that a goroutine takes at a time.
const run = 32

// index holds the released records for the search, grouped by the coordinates that they
// have, because a box of records that lack different coordinates would give no bound.
type index struct {
	s      *space
	groups []group
}

// group holds the records that have the same coordinates.
type group struct {
	present []int32
	rows    []float64
	ids     []int32 // the indices of the records in rows, which are reordered with them; nil: not asked for
	tree    *tree   // nil: compare every record
}

// newIndex may reorder the released records of the space.
func newIndex(s *space, m method, targets int, identified bool) *index {
	ix := &index{s: s, groups: grouped(s, identified)}
	for i := range ix.groups {
		g := &ix.groups[i]
		if choose(m, targets, len(g.rows)/s.width()) == byTree {
			g.tree = newTree(s, g.rows, g.ids)
		}
	}
	return ix
}

func grouped(s *space, identified bool) []group {
	p := s.width()
	if !anyMissing(s.released) {
		g := group{rows: s.released}
		for i := range len(s.released) / p {
			if identified {
				g.ids = append(g.ids, int32(i))
			}
		}
		for j := range p {
			g.present = append(g.present, int32(j))
		}
		return []group{g}
	}
	var groups []group
	of := make(map[string]int)
	pattern := make([]byte, p)
	for at := 0; at < len(s.released); at += p {
		row := s.released[at : at+p]
		for j, v := range row {
			pattern[j] = 0
			if math.IsNaN(v) {
				pattern[j] = 1
			}
		}
		k, known := of[string(pattern)]
		if !known {
			k = len(groups)
			of[string(pattern)] = k
			var g group
			for j, absent := range pattern {
				if absent == 0 {
					g.present = append(g.present, int32(j))
				}
			}
			groups = append(groups, g)
		}
		groups[k].rows = append(groups[k].rows, row...)
		if identified {
			groups[k].ids = append(groups[k].ids, int32(at/p))
		}
	}
	return groups
}

// nearest finds the least sum and its ties for each of the queries.
func (ix *index) nearest(queries []query) {
	ix.pass(queries, (*tree).nearest, ix.s.scan)
}

// rank counts the records nearer than, and as near as, each query's own.
func (ix *index) rank(queries []query) {
	ix.pass(queries, (*tree).rank, ix.s.scanRank)
}

func (ix *index) pass(queries []query, descend func(*tree, *query), scan func([]float64, *query)) {
	p := ix.s.width()
	step := max(1, blockValues/p) * p
	for k := range ix.groups {
		g := &ix.groups[k]
		for i := range queries {
			queries[i].enter(ix.s, g.present)
			if g.tree != nil {
				descend(g.tree, &queries[i])
			}
		}
		if g.tree != nil {
			continue
		}
		for at := 0; at < len(g.rows); at += step {
			block := g.rows[at:min(at+step, len(g.rows))]
			for i := range queries {
				scan(block, &queries[i])
			}
		}
	}
}

// within calls visit for all records whose sum is at most the query's best, which visit may lower. The index must
// be identified.
func (ix *index) within(q *query, visit func(sum float64, record int32)) {
	for k := range ix.groups {
		g := &ix.groups[k]
		q.enter(ix.s, g.present)
		if g.tree != nil {
			g.tree.within(0, g.tree.lower(0, q), q, visit)
		} else {
			ix.s.within(g.rows, g.ids, q, visit)
		}
	}
}

// within calls visit for those records of one group whose sum is at most the query's best. The distance is Gower's,
// whose numeric keys come first.
func (s *space) within(rows []float64, ids []int32, q *query, visit func(sum float64, record int32)) {
	p := s.width()
	numeric := 0
	for numeric < len(q.dims) && s.kinds[q.dims[numeric]] == absolute {
		numeric++
	}
	numbers, categories := q.dims[:numeric], q.dims[numeric:]
	point, weights := q.point, s.weights
next:
	for i, id := range ids {
		row, sum := rows[i*p:i*p+p], q.start
		for _, j := range numbers {
			sum += float64(math.Abs(point[j]-row[j]) * weights[j])
		}
		if sum > q.best {
			continue
		}
		for _, j := range categories {
			if point[j] != row[j] {
				if sum += weights[j]; sum > q.best {
					continue next
				}
			}
		}
		visit(sum, id)
	}
}

// scan calls offer for the records of one group.
func (s *space) scan(rows []float64, q *query) {
	p := s.width()
	switch {
	case !s.plain || !q.complete():
		for ; len(rows) >= p; rows = rows[p:] {
			q.offer(s.sum(rows[:p], q), 1)
		}
	case p < 4:
		for ; len(rows) >= p; rows = rows[p:] {
			sum := 0.0
			for j, v := range q.point {
				t := float64((v - rows[j]) * s.weights[j])
				sum += float64(t * t)
			}
			q.offer(sum, 1)
		}
	default:
		s.scanSquares(rows, q)
	}
}

// scanSquares is scan for four keys and more. It abandons a record if its sum exceeds
// the least sum so far. It checks this after two coordinates, after four, and then
// after every four: a check after every coordinate would cost more, because its
// branches are hard to predict.
func (s *space) scanSquares(rows []float64, q *query) {
	p := len(q.point)
	a, b, c, d := q.point[0], q.point[1], q.point[2], q.point[3]
	wa, wb, wc, wd := s.weights[0], s.weights[1], s.weights[2], s.weights[3]
	best := q.best
next:
	for ; len(rows) >= p && len(rows) >= 4; rows = rows[p:] {
		ta, tb := float64((a-rows[0])*wa), float64((b-rows[1])*wb)
		sum := float64(ta*ta) + float64(tb*tb)
		if sum > best {
			continue
		}
		tc, td := float64((c-rows[2])*wc), float64((d-rows[3])*wd)
		sum += float64(tc * tc)
		sum += float64(td * td)
		if sum > best {
			continue
		}
		if p > 4 {
			row, point, weights := rows[4:p], q.point[4:p], s.weights[4:p]
			for len(row) >= 4 && len(point) >= 4 && len(weights) >= 4 {
				ta, tb := float64((point[0]-row[0])*weights[0]), float64((point[1]-row[1])*weights[1])
				tc, td := float64((point[2]-row[2])*weights[2]), float64((point[3]-row[3])*weights[3])
				sum += float64(ta * ta)
				sum += float64(tb * tb)
				sum += float64(tc * tc)
				sum += float64(td * td)
				if sum > best {
					continue next
				}
				row, point, weights = row[4:], point[4:], weights[4:]
			}
			for j, v := range point {
				t := float64((v - row[j]) * weights[j])
				sum += float64(t * t)
			}
			if sum > best {
				continue
			}
		}
		q.offer(sum, 1)
		best = q.best
	}
}

// scanRank calls rank for the records of one group.
func (s *space) scanRank(rows []float64, q *query) {
	p := s.width()
	if s.plain && q.complete() {
		weights := s.weights[:len(q.point)]
		for ; len(rows) >= p; rows = rows[p:] {
			row := rows[:len(q.point)]
			sum := 0.0
			for j, v := range q.point {
				t := float64((v - row[j]) * weights[j])
				sum += float64(t * t)
			}
			q.rank(sum, 1)
		}
		return
	}
	for ; len(rows) >= p; rows = rows[p:] {
		q.rank(s.sum(rows[:p], q), 1)
	}
}

// sum returns the same sum as between, for a record of the group that enter has
// prepared the query for.
func (s *space) sum(row []float64, q *query) float64 {
	sum := q.start
	for _, j := range q.dims {
		sum += s.term(int(j), q.point[j], row[j])
	}
	return sum
}

// each calls do for runs of targets on all processors, with working memory for a run.
// It returns the context's error if the context ends before all are done.
func each(ctx context.Context, targets int, do func(from, to int, queries []query)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (targets+run-1)/run) {
		group.Go(func() {
			defer bug.Guard()
			queries := make([]query, run)
			for ctx.Err() == nil {
				from := int(next.Add(run)) - run
				if from >= targets {
					return
				}
				to := min(from+run, targets)
				do(from, to, queries[:to-from])
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
