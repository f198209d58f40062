package uniqueness

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// waves is a small panel: what is known and what is released of each record, by person.
type waves struct {
	known, released [][]int
	person          []int // −1: a person of its own
	weight          []float64
}

// randomWaves makes persons with unequal numbers of records, keys that are missing in the source or hidden, and records
// of nobody, in a random order.
func randomWaves(random *rand.Rand, keys int) waves {
	var w waves
	lack, hide := 0.3*random.Float64(), 0.4*random.Float64()
	if random.IntN(3) == 0 {
		lack, hide = 0, 0
	}
	persons, card, most := 2+random.IntN(9), 1+random.IntN(3), 1+random.IntN(4)
	for who := range persons {
		if random.IntN(6) == 0 {
			who = -1
		}
		for range 1 + random.IntN(most) {
			known, released := make([]int, keys), make([]int, keys)
			for j := range known {
				known[j] = random.IntN(card)
				if random.Float64() < lack {
					known[j] = -1
				}
				if released[j] = known[j]; random.Float64() < hide {
					released[j] = -1
				}
			}
			w.known, w.released = append(w.known, known), append(w.released, released)
			w.person, w.weight = append(w.person, who), append(w.weight, 1+4*random.Float64())
		}
	}
	random.Shuffle(len(w.person), func(a, b int) {
		w.known[a], w.known[b] = w.known[b], w.known[a]
		w.released[a], w.released[b] = w.released[b], w.released[a]
		w.person[a], w.person[b] = w.person[b], w.person[a]
	})
	return w
}

func (w *waves) data() Data {
	var d Data
	for j := range w.known[0] {
		key := Column{Name: string(rune('a' + j))}
		var known []int32
		for i := range w.known {
			key.Codes, known = append(key.Codes, int32(w.released[i][j])), append(known, int32(w.known[i][j]))
		}
		d.Keys, d.Known = append(d.Keys, key), append(d.Known, known)
	}
	for _, who := range w.person {
		d.Person = append(d.Person, int32(who))
	}
	return d
}

// people returns the records of each person.
func (w *waves) people() (list [][]int) {
	at := map[int]int{}
	for i, who := range w.person {
		p, there := at[who]
		if !there || who < 0 {
			p = len(list)
			at[who], list = p, append(list, nil)
		}
		list[p] = append(list[p], i)
	}
	return list
}

// fits returns what released record r counts for whom is known as record t: 0, alpha if it hides what is known, or 1.
func (w *waves) fits(t, r int, set []int, alpha float64) float64 {
	share := 1.0
	for _, j := range set {
		x, y := w.known[t][j], w.released[r][j]
		switch {
		case x >= 0 && y >= 0 && x != y:
			return 0
		case x >= 0 && y < 0:
			share = alpha
		}
	}
	return share
}

// into returns what the released records of a person count for known records of another, by trying all assignments of
// these to different records of the former: the greatest of the least.
func (w *waves) into(known, released, set []int, alpha float64) float64 {
	if len(known) == 0 {
		return 1
	}
	most := 0.0
	for at, r := range released {
		if share := w.fits(known[0], r, set, alpha); share > most {
			rest := slices.Delete(slices.Clone(released), at, at+1)
			most = max(most, min(share, w.into(known[1:], rest, set, alpha)))
		}
	}
	return most
}

// joined is the joined k of each person, and its weighted form, by trying.
func (w *waves) joined(people [][]int, set []int, alpha float64) (f, F []float64) {
	for i, mine := range people {
		k, weighted := 0.0, 0.0
		for j, theirs := range people {
			share := 1.0
			if i != j {
				share = 0
				if len(mine) == len(theirs) {
					share = w.into(mine, theirs, set, alpha)
				}
			}
			least := math.Inf(1)
			for _, r := range theirs {
				least = min(least, w.weight[r])
			}
			k, weighted = k+share, weighted+share*least
		}
		f, F = append(f, k), append(F, weighted)
	}
	return f, F
}

// setOf returns the keys of a bit set.
func setOf(bits int) (set []int) {
	for j := 0; bits>>j > 0; j++ {
		if bits>>j&1 == 1 {
			set = append(set, j)
		}
	}
	return set
}

// The joined k is what brute force finds by trying all assignments of records, for missing and hidden keys, persons
// with unequal numbers of records and records of nobody, in the order of the file and in its reverse; and of sets of
// some keys.
func TestPersonsAreCountedByAllTheirRecords(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 41))
		keys := 1 + random.IntN(3)
		w := randomWaves(random, keys)
		if seed%2 == 1 {
			slices.Reverse(w.known)
			slices.Reverse(w.released)
			slices.Reverse(w.person)
		}
		people := w.people()
		alpha := []float64{1, 0.5, 0}[random.IntN(3)]
		o := Options{Alpha: alpha, K: []int{2, 3}, Limits: []int{5}, Estimator: Exact, Subsets: []int{1, 2}}
		data := w.data()
		weighted := random.IntN(2) == 0
		if data.Weights = w.weight; !weighted {
			data.Weights = nil
		}
		r, err := Measure(t.Context(), data, o)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Persons
		f, F := w.joined(people, setOf(1<<keys-1), alpha)
		if !weighted {
			F = f
		}
		want := Persons{Persons: len(people), MinFrequency: slices.Min(f), Violations: map[int]int{2: 0, 3: 0, 5: 0}}
		for p, k := range f {
			if len(people[p]) > 1 {
				want.Several++
			}
			if k == 1 {
				want.Uniques++
			}
			for limit := range want.Violations {
				if k < float64(limit) {
					want.Violations[limit]++
				}
			}
			want.MaxIndividualRisk = max(want.MaxIndividualRisk, Exact.Risk(k, F[p]))
			want.Found += 1 / k / float64(len(f))
			for _, i := range people[p] {
				if w.person[i] < 0 {
					want.Unknown++
				}
				if got.Frequency[i] != k {
					t.Fatalf("seed %d, record %d: joined k %v, want %v", seed, i, got.Frequency[i], k)
				}
			}
		}
		want.UniqueShare = float64(want.Uniques) / float64(want.Persons)
		if got.Persons != want.Persons || got.Several != want.Several || got.Unknown != want.Unknown ||
			got.MinFrequency != want.MinFrequency || got.Uniques != want.Uniques ||
			got.UniqueShare != want.UniqueShare || got.AtLeast ||
			math.Abs(got.MaxIndividualRisk-want.MaxIndividualRisk) > 1e-12 || math.Abs(got.Found-want.Found) > 1e-12 {
			t.Fatalf("seed %d: %+v\nwant %+v", seed, *got, want)
		}
		for limit, n := range want.Violations {
			if got.Violations[limit] != n {
				t.Errorf("seed %d: %d persons below %d, want %d", seed, got.Violations[limit], limit, n)
			}
		}
		for _, s := range r.Subsets {
			least, most := math.Inf(1), 0.0
			for bits := 1; bits < 1<<keys; bits++ {
				if set := setOf(bits); len(set) == min(s.Size, keys) {
					f, F := w.joined(people, set, alpha)
					for p, k := range f {
						if !weighted {
							F[p] = k
						}
						least, most = min(least, k), max(most, Exact.Risk(k, F[p]))
					}
				}
			}
			if s.PersonK != least || math.Abs(s.PersonRisk-most) > 1e-12 {
				t.Fatalf("seed %d, sets of %d keys: k %v, risk %v, want %v, %v", seed, s.Size, s.PersonK, s.PersonRisk, least, most)
			}
		}
	}
}

// Whoever knows some records of a person has as many candidates as whoever knows all, or more: the joined k bounds k of
// each part of a history, by all keys and by some, and with it k of single records. A snooper who knows a part looks
// among all persons.
func TestJoinedKBoundsThatOfEachPart(t *testing.T) {
	smaller := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 42))
		keys := 1 + random.IntN(2)
		w := randomWaves(random, keys)
		people := w.people()
		r, err := Measure(t.Context(), w.data(), Options{Alpha: 1, Estimator: Exact})
		if err != nil {
			t.Fatal(err)
		}
		for _, mine := range people {
			joined := r.Persons.Frequency[mine[0]]
			for part := 1; part < 1<<len(mine); part++ {
				var known []int
				for _, at := range setOf(part) {
					known = append(known, mine[at])
				}
				for bits := 1; bits < 1<<keys; bits++ {
					k := 0.0
					for _, theirs := range people {
						k += w.into(known, theirs, setOf(bits), 1)
					}
					if k < joined {
						t.Fatalf("seed %d: whoever knows records %v by keys %v has %v candidates, and joined k is %v", seed, known,
							setOf(bits), k, joined)
					}
					if k > joined {
						smaller++
					}
				}
			}
		}
	}
	if smaller == 0 {
		t.Error("no part has more candidates than the whole history, so that the test says nothing")
	}
}

// A snooper who knows all records of a person, and names one of the persons whose release can be theirs, is right as
// often as Found says.
func TestJoinedKIsTheShareOfRightClaims(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 43))
	right, variance, expected, claims := 0, 0.0, 0.0, 0
	for range 60 {
		w := randomWaves(random, 2)
		people := w.people()
		r, err := Measure(t.Context(), w.data(), Options{Alpha: 1, Estimator: Exact})
		if err != nil {
			t.Fatal(err)
		}
		const draws = 200
		for who, mine := range people {
			var candidates []int
			for j, theirs := range people {
				if len(theirs) == len(mine) && w.into(mine, theirs, setOf(3), 1) > 0 {
					candidates = append(candidates, j)
				}
			}
			p := 1 / r.Persons.Frequency[mine[0]]
			for range draws {
				if candidates[random.IntN(len(candidates))] == who {
					right++
				}
			}
			claims += draws
			expected += draws * p
			variance += draws * p * (1 - p)
		}
	}
	// The number of right claims is a sum of independent 0/1 draws: beyond 4.5 SDs in 7 of a million runs.
	if math.Abs(float64(right)-expected) > 4.5*math.Sqrt(variance) {
		t.Errorf("%d of %d claims are right, want %.0f ± %.0f", right, claims, expected, math.Sqrt(variance))
	}
}

// With one record for each person, joined k is k, also where cells are hidden and however records are counted.
func TestPersonsOfOneRecord(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 44))
		w := randomWaves(random, 2)
		for i := range w.person {
			if w.person[i] = i; random.IntN(3) == 0 {
				w.person[i] = -1
			}
		}
		data, alpha := w.data(), 1.0
		if seed%3 == 0 {
			data.Known = nil // counted from the released record
		} else if seed%3 == 1 {
			alpha = 0.5
		}
		r, err := Measure(t.Context(), data, Options{Alpha: alpha, Estimator: Exact})
		if err != nil || !slices.Equal(r.Persons.Frequency, r.SampleFrequency) || r.Persons.MinFrequency != r.MinFrequency ||
			r.Persons.Uniques != r.SampleUniques {
			t.Fatalf("seed %d: %v, %v, want %v", seed, err, r.Persons.Frequency, r.SampleFrequency)
		}
	}
}

// Records that are equal do not hide a person: ten of one person have k = 10, and joined k 1. Of many records in one
// person, only those that lack keys are assigned to others, and too many are taken for different ones: the bound is
// said to be one, and is never too great.
func TestPersonsOfManyRecords(t *testing.T) {
	const n = 10_000
	long := func(lacking int) Data {
		d := Data{Keys: []Column{{Name: "a"}}, Known: [][]int32{nil}}
		for who := range int32(3) {
			for i := range int32(n) {
				code := i % 7
				if int(i) < lacking && who > 0 {
					code = -1
				}
				d.Keys[0].Codes, d.Known[0], d.Person = append(d.Keys[0].Codes, code), append(d.Known[0], i%7),
					append(d.Person, who)
			}
		}
		return d
	}
	for _, lacking := range []int{0, 20, mostOpen, mostOpen + 1, n} {
		r, err := Measure(t.Context(), long(lacking), Options{Alpha: 1, Estimator: Exact})
		if err != nil || r.Persons.Several != 3 || r.Persons.AtLeast != (lacking > mostOpen) {
			t.Fatalf("%d lacking: %v, %+v", lacking, err, r.Persons)
		}
		// All three may be any of them: what is hidden contradicts nothing.
		for who, k := range []float64{r.Persons.Frequency[0], r.Persons.Frequency[n], r.Persons.Frequency[3*n-1]} {
			if lacking <= mostOpen && k != 3 || lacking > mostOpen && (k > 3 || k < 1) {
				t.Errorf("%d lacking: joined k %v of person %d", lacking, k, who+1)
			}
		}
	}
	alone := Data{Keys: []Column{{Name: "a", Codes: []int32{1, 1, 1, 2, 1, 1, 2}}}, Person: []int32{5, 5, 5, 4, -1, -1, 3}}
	r, err := Measure(t.Context(), alone, Options{Alpha: 1, Estimator: Exact})
	if want := []float64{1, 1, 1, 2, 2, 2, 2}; err != nil || r.MinFrequency != 2 ||
		!slices.Equal(r.Persons.Frequency, want) {
		t.Errorf("%v, %v, want %v", err, r.Persons.Frequency, want)
	}
	if p := r.Persons; p.Persons != 5 || p.Several != 1 || p.Unknown != 2 || p.Uniques != 1 || p.UniqueShare != 0.2 {
		t.Errorf("%+v", p)
	}
}

// By sets of some keys nobody has fewer candidates than by all, also where there is no time left to compare histories
// that lack keys, and each counts for its like alone.
func TestJoinedKBySetsWithoutTime(t *testing.T) {
	d := Data{Keys: []Column{{Name: "a", Codes: []int32{-1, 2, 3, 4}}, {Name: "b", Codes: []int32{5, 5, 5, 5}}},
		Known: [][]int32{{2, 2, 3, 4}, {5, 5, 5, 5}}, Person: []int32{0, 0, 1, 1},
		Weights: []float64{1, 2, 3, 4}}
	d.Keys[0].Codes[2], d.Known[0][2], d.Keys[0].Codes[3], d.Known[0][3] = 2, 2, 2, 2 // both persons have (2, 5) twice
	o := Options{Alpha: 1, Estimator: Exact}
	p := newPanel(&grouper{}, &d, 1)
	f, F, atLeast, err := p.counts(t.Context(), &grouper{}, []int{0, 1})
	if err != nil || atLeast || !slices.Equal(f, []float64{2, 2}) || !slices.Equal(F, []float64{4, 4}) {
		t.Fatalf("%v, %v, %v, %v", f, F, atLeast, err)
	}
	for _, steps := range []int{0, maxSteps} {
		subsets := []Subset{{Size: 1}}
		p.steps = steps
		if err := p.bySubset(t.Context(), &grouper{}, &o, &Persons{}, subsets, f, F); err != nil || subsets[0].PersonK != 2 ||
			subsets[0].PersonRisk != Exact.Risk(2, 4) {
			t.Errorf("%d steps: %v, %+v", steps, err, subsets[0])
		}
	}
	p.steps = 0
	if f, _, atLeast, _ := p.counts(t.Context(), &grouper{}, []int{0, 1}); !atLeast || !slices.Equal(f, []float64{2, 1}) &&
		!slices.Equal(f, []float64{1, 2}) && !slices.Equal(f, []float64{1, 1}) {
		t.Errorf("without time: %v, at least %v", f, atLeast)
	}
}

// Too many histories that lack keys are matched with their like alone: a lower bound, which is said to be one.
func TestTooManyHistoriesThatLackKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 45))
	d := Data{Keys: []Column{{Name: "a"}}, Known: [][]int32{nil}}
	const persons = 16_000 // 2.6e8 pairs of three steps
	for who := range int32(persons) {
		for range 2 {
			known := int32(random.IntN(1_000_000))
			d.Keys[0].Codes, d.Known[0], d.Person = append(d.Keys[0].Codes, known), append(d.Known[0], known),
				append(d.Person, who)
		}
		d.Keys[0].Codes[2*who] = -1
	}
	d.Keys[0].Codes[1], d.Keys[0].Codes[2*persons-1] = d.Known[0][1], d.Known[0][1]
	r, err := Measure(t.Context(), d, Options{Alpha: 1, Estimator: Exact})
	if err != nil || !r.Persons.AtLeast || r.Persons.MinFrequency != 1 || slices.Max(r.Persons.Frequency) > 2 {
		t.Fatalf("%v, %+v", err, r.Persons)
	}
	for i := range d.Keys[0].Codes { // few of them are compared with all
		if d.Keys[0].Codes[i] = d.Known[0][i]; i < 20 && i%2 == 0 {
			d.Keys[0].Codes[i] = -1
		}
	}
	if r, err = Measure(t.Context(), d, Options{Alpha: 1, Estimator: Exact}); err != nil || r.Persons.AtLeast {
		t.Fatalf("few that lack keys: %v, %+v", err, r.Persons)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ended, Data{Keys: []Column{{Name: "a", Codes: []int32{-1, 0}}}, Person: []int32{0, 1}},
		Options{Estimator: Exact}); err == nil {
		t.Error("a measurement that was ended has no error")
	}
}
