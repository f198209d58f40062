package referee

import "testing"

// lcg is the linear congruential generator of scripts/reference/referee.py.
type lcg struct{ state uint64 }

func (d *lcg) below(k int) int {
	d.state = d.state*6364136223846793005 + 1442695040888963407
	return int((d.state >> 33) % uint64(k))
}

// person is a record: age, educ, wage, hours, sex, region, job.
type person [7]int

func newPerson(d *lcg) (p person) {
	p[0] = 18 + d.below(60)
	p[1] = 8 + 2*d.below(5)
	p[1] += d.below(3)
	p[2] = 200 + 40*p[1] + 6*min(p[0], 55)
	extra := d.below(4000)
	if d.below(20) == 0 {
		extra *= 4
	}
	p[2] += extra
	p[3] = 20 + d.below(40)
	p[4] = d.below(2)
	a, b := d.below(9), d.below(9)
	p[5] = min(a, b)
	p[6] = p[1]/2 + d.below(4)
	return p
}

func blurred(p person, d *lcg) person {
	p[2] += d.below(41) - 20
	p[3] += d.below(5) - 2
	if d.below(10) == 0 {
		p[5] = d.below(9)
	}
	return p
}

var columnNames = []string{"age", "educ", "wage", "hours", "sex", "region", "job"}

// scenarios are those of scripts/reference/referee.py, in its order.
var scenarios = []string{"identical", "independent", "leaky", "noisy", "smaller", "larger"}

// scenario makes the files of a scenario again.
func scenario(name string, seed uint64) Data {
	d := &lcg{seed}
	const n = 1500
	m := n
	switch name {
	case "smaller":
		m = 400
	case "larger":
		m = 3000
	}
	people := func(n int) (list []person) {
		for range n {
			list = append(list, newPerson(d))
		}
		return list
	}
	training, control := people(n), people(m)
	var released []person
	switch name {
	case "identical":
		released = append(append(released, training[n/3:]...), training[:n/3]...)
	case "independent":
		released = people(n)
	default:
		for i, p := range training {
			switch {
			case name == "noisy":
				p = blurred(p, d)
			case i%2 == 1:
				p = newPerson(d)
			}
			released = append(released, p)
		}
	}
	return dataOf(training, released, control)
}

// dataOf returns the columns of three files.
func dataOf(files ...[]person) (d Data) {
	for j, name := range columnNames {
		c := Column{Name: name, Numeric: j < 4}
		for s, list := range files {
			for _, p := range list {
				if c.Numeric {
					c.Sides[s].Numbers = append(c.Sides[s].Numbers, float64(p[j]))
				} else {
					c.Sides[s].Codes = append(c.Sides[s].Codes, int32(p[j]))
				}
			}
		}
		d.Columns = append(d.Columns, c)
	}
	return d
}

// options are those of the reference.
func options() Options {
	return Options{Attempts: 1000, Seed: 1, Level: 0.95, Aux: [][]string{{"age", "sex", "educ"}, {"wage", "region"}}}
}

func mustRun(t *testing.T, d Data, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
