package report

import (
	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// MaskOf describes a mask of the configuration that changed so many records. sd
// gives the standard deviation of a column's original values, to which a
// percentage refers, or NaN where it is not known.
func MaskOf(spec transform.Spec, records int64, sd func(column string) float64) Mask {
	m := Mask{Mask: spec.Kind(), Name: spec.Name, Records: records, Columns: spec.Params.Masks()}
	switch p := spec.Params.(type) {
	case *transform.Bias:
		switch {
		case p.Phi != nil:
			m.add("phi", *p.Phi)
		case p.Range != nil:
			m.add("range", *p.Range)
			m.add("phi", *p.Range/3)
		}
	case *transform.Noise:
		if p.SD != nil {
			m.addAmount("sd", *p.SD)
			for _, c := range m.Columns {
				λ := p.SD.Value
				if p.SD.Relative {
					λ *= sd(c)
				}
				m.NoiseSD = append(m.NoiseSD, Member[assess.Float]{c, assess.Float(λ)})
			}
		}
		m.addWord("distribution", p.Distribution, "normal")
		var tiers []any
		for _, t := range p.Tiers {
			if t.Above != nil && t.VarianceFactor != nil {
				tiers = append(tiers, map[string]any{"above": *t.Above, "variance_factor": *t.VarianceFactor})
			}
		}
		if tiers != nil {
			m.add("tiers", tiers)
		}
	case *transform.Truncate:
		m.addBound("lower", p.Lower)
		m.addBound("upper", p.Upper)
		m.addWord("mode", p.Mode, "clip")
	case *transform.Round:
		if p.Decimals != nil {
			m.add("decimals", float64(*p.Decimals))
		}
		m.addBound("base", p.Base)
	case *transform.Swap:
		m.add("keys", words(p.Keys))
		m.add("attribute", p.Attribute)
		m.addBound("rate", p.Rate)
		m.addWord("policy", p.Policy, "unique")
		m.addWord("scope", p.Scope, "window")
	}
	return m
}

func (m *Mask) add(name string, value any) {
	m.Parameters = append(m.Parameters, Member[any]{name, value})
}

func (m *Mask) addBound(name string, v *float64) {
	if v != nil {
		m.add(name, *v)
	}
}

func (m *Mask) addWord(name, word, byDefault string) {
	if word == "" {
		word = byDefault
	}
	m.add(name, word)
}

// addAmount keeps a percentage as it is written and a number as a number.
func (m *Mask) addAmount(name string, a transform.Amount) {
	if !a.Relative {
		m.add(name, a.Value)
		return
	}
	if text, err := a.MarshalText(); err == nil {
		m.add(name, string(text))
	}
}

// words makes a list of the type that decoding JSON gives.
func words(list []string) []any {
	out := make([]any, len(list))
	for i, w := range list {
		out[i] = w
	}
	return out
}
