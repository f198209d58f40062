package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// IntruderKeys are the columns that an intruder may know of a respondent: assess.keys, or, if
// the file has none, the columns whose role is key, in the order of the file. They are known
// once a pipeline is loaded.
func (a *Assess) IntruderKeys() []string {
	if a.KeysByRole() {
		return a.roleKeys
	}
	return a.Keys
}

// KeysByRole reports whether the keys follow from the columns' roles and are not named for an
// intruder. Keys that cannot be measured are then left out, unless a rule needs them.
func (a *Assess) KeysByRole() bool { return len(a.Keys) == 0 && len(a.roleKeys) > 0 }

// keysWords is what the keys are, for messages.
func (a *Assess) keysWords() string {
	if a.KeysByRole() {
		return "the columns whose role is key (or of assess.keys, where that is given)"
	}
	return "assess.keys"
}

// KeysInWords says what an intruder is assumed to know, and where that comes from; "" if no
// attack needs keys.
func (p *Pipeline) KeysInWords() string {
	a := &p.Assess
	from := "as the configuration names them"
	switch origin := ""; {
	case a.KeysByRole():
		from = "the columns whose role is key, since the configuration has no assess.keys"
	case len(a.Keys) == 0:
		if (p.Stream() || p.Streaming()) && slices.ContainsFunc(p.Columns, func(c Column) bool {
			return c.Role == microdata.Key
		}) {
			return "assess.keys: none; on a stream columns whose role is key are not taken for it, as what an intruder finds stands in the final report alone: name them"
		}
		return ""
	default:
		if p.loaded != nil {
			origin = p.loaded.Origin("assess.keys[0]")
		}
		if origin != "" {
			from = "with " + origin
		}
	}
	return fmt.Sprintf("assess.keys: %s (%s)", strings.Join(a.IntruderKeys(), ", "), from)
}

// WithoutIntruder is the assessment without anything that an intruder does.
func (a Assess) WithoutIntruder() Assess {
	a.Keys, a.roleKeys, a.Intruder = nil, nil, nil
	return a
}

// fillKeys gives assess.keys, where the file has none, the columns with role: key. Of a
// stream the intruder stands in the final report alone, for which every partition's
// state would carry the keys: there it must be asked for.
func (l *loader) fillKeys(p *Pipeline) {
	const path = "assess.keys"
	if l.Given(path) || !l.Sound("columns", path) || l.Misspelt("assess", "keys") || p.Assess.Intruder == nil &&
		(p.Stream() || p.Streaming()) {
		return
	}
	if in := p.Assess.Intruder; in.Named() && in.Linkage == nil && in.Bayes == nil && in.Uniqueness == nil &&
		in.Population == nil && in.Attribute == nil {
		return // nothing that is asked takes keys
	}
	var keys []string
	for _, c := range p.Columns {
		if c.Role == microdata.Key {
			keys = append(keys, c.Name)
		}
	}
	if len(keys) > asked.Keys {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf(
				"%s: %s have the role key, of which an intruder is not measured beyond %d: name those that one may know together",
				path, count(len(keys), "column"), asked.Keys))
		return
	}
	p.Assess.roleKeys = keys
}
