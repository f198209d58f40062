package perturb

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// exported writes a table as the R package ptable does, for the counts up to most.
func exported(t *Table, most int64, sep string) string {
	var b strings.Builder
	fmt.Fprintln(&b, strings.Join([]string{"i", "j", "p", "v", "p_int_lb", "p_int_ub", "type"}, sep))
	for count := range most + 1 {
		r := t.of(count)
		sum := 0.0
		for k, v := range r.change {
			fmt.Fprintln(&b,
				strings.Join([]string{fmt.Sprint(count), fmt.Sprint(count + v), fmt.Sprintf("%.17g", r.p[k]), fmt.Sprint(v),
					fmt.Sprint(sum), fmt.Sprint(sum + r.p[k]), "all"}, sep))
			sum += r.p[k]
		}
	}
	return b.String()
}

// A table that was written is the same when it is read.
func TestReadTable(t *testing.T) {
	for _, n := range []Noise{{3, 1.5, 1}, {5, 3, 2}, {2, 1, 1}} {
		for _, sep := range []string{";", ",", "\t"} {
			want := table(t, n)
			got, problems := ReadTable(strings.NewReader("\ufeff" + exported(want, int64(n.Max+n.Least), sep)))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if noise := got.Noise(); noise.Max != n.Max || noise.Least != n.Least || math.Abs(noise.Variance-n.Variance) > 1e-6 {
				t.Errorf("%+v became %+v", n, noise)
			}
			for count := range int64(40) {
				for _, draw := range []uint64{0, 1 << 40, 1 << 62, 1<<63 + 1<<20, 3 << 62, math.MaxUint64} {
					if a, b := want.Perturb(count, draw), got.Perturb(count, draw); a != b {
						t.Errorf("%+v: %d became %d, not %d", n, count, b, a)
					}
				}
				a, p := want.Likelihood(count)
				b, q := got.Likelihood(count)
				if a != b || fmt.Sprint(p) != fmt.Sprint(q) {
					t.Errorf("%+v: the likelihood of %d is %v from %d, not %v from %d", n, count, q, b, p, a)
				}
			}
		}
	}
}

// The last row is that of all greater counts, rows need not be of one shape, and changes that are impossible may be
// listed.
func TestReadTableOfOwnMake(t *testing.T) {
	got, problems := ReadTable(strings.NewReader("p,i,j\n1,0,0\n0,0,1\n0.5,1,0\n0.5,1,2\n0.25,2,0\n0.75,2,2\n"))
	if len(problems) != 1 ||
		problems[0].Error() !=
			"count 2: the expectation must be the count, so that the change is unbiased; got a mean change of -0.5" {
		t.Errorf("a biased table: %v, %v", got, problems)
	}
	var b strings.Builder
	b.WriteString("type,i,j,p\nall,0,0,1\n")
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&b, "all,%d,%d,.5\nall,%d,%d,.5\n", i, i-min(i, 1000), i, i+min(i, 1000))
	}
	if got, problems = ReadTable(strings.NewReader(b.String())); len(problems) > 0 || got.Noise().Max != 1000 ||
		got.Perturb(5000, 0) != 4000 {
		t.Error(problems)
	}
	if _, problems = ReadTable(strings.NewReader(strings.Replace(b.String(), "all,7,", "even,7,", 1))); len(problems) !=
		1 || !strings.Contains(problems[0].Error(), "type must be all") {
		t.Error(problems)
	}
	got, problems = ReadTable(strings.NewReader("p,i,j\n1,0,0\n0,0,1\n0.5,1,0\n0.5,1,2\n0.25,2,0\n0.5,2,2\n.25,2,4\n"))
	if len(problems) > 0 || got.Noise() != (Noise{2, 2, 2}) {
		t.Fatal(got, problems)
	}
	if got.Perturb(0, math.MaxUint64) != 0 || got.Perturb(1, 0) != 0 || got.Perturb(1, math.MaxUint64) != 2 ||
		got.Perturb(100, 0) != 98 || got.Perturb(100, 1<<63) != 100 {
		t.Error("wrong changes")
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	const good = "i;j;p;v;type\n0;0;1;0;all\n1;0;0.5;-1;all\n1;2;0.5;1;all\n"
	if _, problems := ReadTable(strings.NewReader(good)); len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct{ from, to, want string }{
		{good, "", "line 1: must have the names i, j and p"},
		{"i;j;p", "i;k;p", "line 1: must have the names i, j and p"},
		{"1;0;0.5;-1;all", "1;0;0.5;-1", "line 3: must have as many fields"},
		{"1;0;0.5;-1;all", "x;0;0.5;-1;all", "line 3: i and j must be whole numbers"},
		{"1;0;0.5;-1;all", "1;-1;0.5;-2;all", "line 3: i and j must be whole numbers"},
		{"1;2;0.5;1;all", "1;2000;0.5;1999;all", "line 4: i and j must be whole numbers"},
		{"1;0;0.5;-1;all", "1;0;1.5;-1;all", "line 3: p must be between 0 and 1"},
		{"1;0;0.5;-1;all", "1;0;-0.5;-1;all", "line 3: p must be between 0 and 1"},
		{"1;0;0.5;-1;all", "1;0;NaN;-1;all", "line 3: p must be between 0 and 1"},
		{"1;0;0.5;-1;all", "1;0;0,5;-1;all", "line 3: p must be between 0 and 1"},
		{"1;0;0.5;-1;all", "1;0;0.5;-1;even", "line 3: type must be all"},
		{"1;0;0.5;-1;all", "1;0;0.5;1;all", "line 3: v must be j − i"},
		{"1;0;0.5;-1;all", "2;0;0.5;-2;all", "line 3: count 1 must come before"},
		{"0;0;1;0;all\n", "", "line 2: count 0 must come before"},
		{"1;2;0.5;1;all", "1;0;0.5;-1;all", "line 4: the change of 1 to 0 is there twice"},
		{"1;2;0.5;1;all", "1;2;0.499;1;all", "count 1: the probabilities must add up to 1, got 0.999"},
		{"1;2;0.5;1;all", "1;1;0.5;0;all", "count 1: the expectation must be the count"},
		{"0;0;1;0;all", "0;0;0.5;0;all\n0;1;0.5;1;all", "count 0: must stay 0"},
		{"0;0;1;0;all", "0;1;1;1;all", "count 0: must stay 0"},
	} {
		_, problems := ReadTable(strings.NewReader(strings.Replace(good, c.from, c.to, 1)))
		if len(problems) == 0 || !strings.Contains(problems[0].Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.to, problems, c.want)
		}
	}
}
