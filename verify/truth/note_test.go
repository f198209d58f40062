package truth

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// noteOf is what a public report tells users of one column.
type noteOf struct {
	Correction string `json:"correction"`
	Statistics []struct {
		Statistic string `json:"statistic"`
		Formula   string `json:"formula"`
		Text      string `json:"text"`
	} `json:"statistics"`
	Limits []string `json:"limits"`
}

// notesOf reads the notes of a public report, by column.
func notesOf(t testing.TB, text []byte) map[string]noteOf {
	t.Helper()
	var p struct {
		Note struct {
			Columns map[string]noteOf `json:"columns"`
		} `json:"note"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p.Note.Columns
}

// statistics of one sample of x (or its released values y) and w, as a user computes them. by is by the words of a
// note.
func statisticsOf(y, w []float64) map[string]float64 {
	var n, my, mw float64
	for i, v := range y {
		if v == v {
			n++
			my += v
			mw += w[i]
		}
	}
	my, mw = my/n, mw/n
	var vy, vw, c float64
	for i, v := range y {
		if v == v {
			vy += (v - my) * (v - my)
			vw += (w[i] - mw) * (w[i] - mw)
			c += (v - my) * (w[i] - mw)
		}
	}
	vy, vw, c = vy/(n-1), vw/(n-1), c/(n-1)
	return map[string]float64{
		"mean(y)": my, "Var(y)": vy, "SD(y)": math.Sqrt(vy), "SD(w)": math.Sqrt(vw), "Cov(y, w)": c,
		"r(y, w)": c / math.Sqrt(vy*vw), "b(y on w)": c / vw, "b(w on y)": c / vy,
	}
}

// theSame are the statistics that a note speaks of, in the words of its formulas, for x and for y.
var theSame = map[string][]string{
	"mean": {"mean(y)"}, "variance": {"Var(y)"}, "covariance": {"Cov(y, w)"}, "correlation": {"r(y, w)"},
	"correlation and slope":             {"r(y, w)", "b(y on w)", "b(w on y)", "Cov(y, w)"},
	"correlation, covariance and slope": {"r(y, w)", "b(y on w)", "b(w on y)", "Cov(y, w)"},
	"correlation and slopes":            {"r(y, w)", "b(y on w)", "b(w on y)"},
	"slope, as a regressor":             {"b(w on y)"}, "slope, as the response": {"b(y on w)"},
}

// claim is what a note says of one statistic: a formula of its value, or of a bound of it.
type claim struct {
	about    string // of y, as in theSame
	relation string // "=", "≤" or "≥"
	formula  string
}

// claims reads the statements of a note. unknown are the statistics of which it says that no correction is known, or
// that what it takes is not published. with is a column that is masked together with this one; "": one that is not
// masked. A statement that is neither is an error: a user could not tell what to do.
func (n *noteOf) claims(with string, shared bool) (list []claim, unknown []string, err error) {
	variance, err := n.variance()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range n.Statistics {
		name, other, linked := strings.Cut(s.Statistic, " with ")
		if linked != (with != "") || linked && other != with {
			continue
		}
		text, about := strings.ToLower(s.Text), theSame[name]
		unneeded := strings.Contains(text, "need no correction") || strings.Contains(text, "needs no correction")
		moved := strings.Contains(text, "moved along") // it is on columns that partners share
		if moved && !shared {
			unknown = append(unknown, about...)
			continue
		}
		silent := (moved || !strings.Contains(text, "no correction is known")) &&
			!strings.Contains(text, "no closer correction is known") &&
			!strings.Contains(text, "not published") && !strings.Contains(text, "so no correction is")
		switch {
		case name == "any statistic, its variance":
			words := ""
			for _, s := range strings.Split(text, ". ") {
				if strings.Contains(s, "need nothing else") {
					words = s
				}
			}
			missing := slices.ContainsFunc([]string{"means", "variances", "correlations", "slopes"}, func(word string) bool {
				return !strings.Contains(words, word)
			})
			if missing && silent {
				return nil, nil, fmt.Errorf("%q says neither how to correct nor that it is not known", s.Text)
			}
			for about, word := range map[string]string{"mean(y)": "means", "Var(y)": "variances", "r(y, w)": "correlations",
				"b(y on w)": "slopes", "b(w on y)": "slopes"} {
				switch alone := about == "mean(y)" || about == "Var(y)"; {
				case !strings.Contains(words, word) || !alone && !shared:
					unknown = append(unknown, about)
				default:
					list = append(list, claim{about, "=", about})
				}
			}
		case about == nil: // that variance, in Python, counts and shares
		case s.Formula == "" && unneeded && silent:
			for _, a := range about {
				list = append(list, claim{a, "=", a})
			}
		case s.Formula == "":
			if silent {
				return nil, nil, fmt.Errorf("%s: %q says neither how to correct nor that it is not known", s.Statistic, s.Text)
			}
			unknown = append(unknown, about...)
		default:
			found, err := formulas(s.Formula, s.Text, variance)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, found...)
		}
	}
	return list, unknown, nil
}

// variance returns the formulas of Var(x), see formulas.
func (n *noteOf) variance() (list []string, err error) {
	for _, s := range n.Statistics {
		if s.Statistic != "variance" || !strings.HasPrefix(s.Formula, "Var(x) ") {
			continue
		}
		found, err := formulas(s.Formula, s.Text, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			list = append(list, c.formula)
		}
	}
	return list, nil
}

var (
	together     = regexp.MustCompile(`^V is the variance of the noise that the two were masked with together, (\S+?)\. `)
	betweenWords = regexp.MustCompile(`between (\S+) and (\S+?)\. `)
)

// formulas reads "Var(x) = Var(y) − 100" and its like; variance has the formulas of Var(x), for ρ: one, or
// those of a lower and an upper bound. With bounds, what is divided by Var(x) is taken to be positive.
func formulas(formula, text string, variance []string) (list []claim, err error) {
	formula, _, _ = strings.Cut(formula, ",  ρ")
	for _, part := range strings.Split(formula, ",  ") {
		relation := ""
		for _, r := range []string{" = ", " ≥ ", " ≤ "} {
			if strings.Contains(part, r) {
				relation = r
				break
			}
		}
		left, right, _ := strings.Cut(part, relation)
		relation = strings.TrimSpace(relation)
		if left == "SD(before rounding)" {
			left = "SD(x)"
		}
		about := strings.NewReplacer("(x", "(y", "on x)", "on y)").Replace(left)
		right = strings.ReplaceAll(right, "ρ", "(Var(x)/Var(y))")
		if strings.Contains(right, "V/") {
			m := together.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("%s: %q does not say what V is", formula, text)
			}
			right = strings.ReplaceAll(right, "V/", m[1]+"/")
		}
		if strings.Contains(right, "Var(x)") {
			with := func(i int) string { return strings.ReplaceAll(right, "Var(x)", "("+variance[i]+")") }
			switch len(variance) {
			case 0:
				return nil, fmt.Errorf("%s: Var(x) is not given", formula)
			case 1:
				right = with(0)
			default:
				list = append(list, claim{about, "≥", with(1)}, claim{about, "≤", with(0)})
				continue
			}
		}
		middle, half, around := strings.Cut(right, " ± ")
		switch {
		case around:
			list = append(list, claim{about, "≥", middle + " − " + half}, claim{about, "≤", middle + " + " + half})
		case strings.Contains(right, "N"):
			m := betweenWords.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("%s: %q does not say what N is", formula, text)
			}
			list = append(list, claim{about, "≥", strings.ReplaceAll(right, "N", m[2])},
				claim{about, "≤", strings.ReplaceAll(right, "N", m[1])})
		default:
			list = append(list, claim{about, relation, right})
		}
	}
	return list, nil
}

// valueOf computes a formula of a note.
func valueOf(formula string, of map[string]float64) (float64, error) {
	p := &expression{rest: formula, of: of}
	v := p.sum()
	if p.rest = strings.TrimSpace(p.rest); p.rest != "" || p.bad {
		return 0, fmt.Errorf("%q: cannot be read at %q", formula, p.rest)
	}
	return v, nil
}

// expression reads sums of products of numbers, statistics, brackets, roots and squares.
type expression struct {
	rest string
	of   map[string]float64
	bad  bool
}

func (p *expression) take(token string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *expression) sum() float64 {
	v := p.product()
	for {
		switch {
		case p.take("+"):
			v += p.product()
		case p.take("−"):
			v -= p.product()
		default:
			return v
		}
	}
}

func (p *expression) product() float64 {
	v := p.factor()
	for {
		switch {
		case p.take("·"):
			v *= p.factor()
		case p.take("/"):
			v /= p.factor()
		default:
			return v
		}
	}
}

var aNumber = regexp.MustCompile(`^[0-9][0-9.]*(e[-+]?[0-9]+)?`)

func (p *expression) factor() (v float64) {
	defer func() {
		if p.take("²") {
			v *= v
		}
	}()
	if p.take("√") {
		return math.Sqrt(p.factor())
	}
	for name, v := range p.of {
		if p.take(name) {
			return v
		}
	}
	if p.take("(") {
		v := p.sum()
		p.bad = p.bad || !p.take(")")
		return v
	}
	p.rest = strings.TrimLeft(p.rest, " ")
	number := aNumber.FindString(p.rest)
	v, err := strconv.ParseFloat(number, 64)
	p.bad = p.bad || err != nil
	p.rest = p.rest[len(number):]
	return v
}

// The reader of notes reads what they are made of.
func TestNoteReader(t *testing.T) {
	of := map[string]float64{"mean(y)": 3, "Var(y)": 20, "Cov(y, w)": 2, "SD(w)": 4, "r(y, w)": 0.5}
	for formula, want := range map[string]float64{
		"Var(y) − 4": 16, "(Var(y) − 0.01·mean(y)² − 4) / (1 + 0.01)": (20 - 0.09 - 4) / 1.01,
		"r(y, w) / √((Var(y) − 15)/Var(y))": 1,
		"Cov(y, w) − 0.5·SD(w)":             0, "1e-05·2": 2e-5, "Cov(y, w) / (1 + 4/(Var(y) − 4))": 1.6,
	} {
		if got, err := valueOf(formula, of); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, %v, want %v", formula, got, err, want)
		}
	}
	for _, formula := range []string{"Var(y) −", "Var(z)", "(Var(y)", "2 3"} {
		if v, err := valueOf(formula, of); err == nil {
			t.Errorf("%s: %v", formula, v)
		}
	}
}
