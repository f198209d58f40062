package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// SHA256 identifies the configuration as it took effect: environment, --set and
// defaults included, in hex. Comments, order of fields and ways of writing a
// number make no difference. Of the key it covers the place alone; nothing
// secret goes into it.
func (p *Pipeline) SHA256() string {
	sum := sha256.Sum256(p.canonical())
	return hex.EncodeToString(sum[:])
}

// canonical is the effective configuration as JSON, which is a configuration
// that loads to the same.
func (p *Pipeline) canonical() []byte { return form.Canonical(root(), p) }

// Part returns the named top-level fields of the configuration as it took
// effect, as JSON: what the same part of another one can be compared with.
// Nothing secret is in it.
func (p *Pipeline) Part(names ...string) []byte {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(p.canonical(), &all); err != nil {
		panic("config: the effective configuration is no JSON: " + err.Error())
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range names {
		if value, given := all[name]; given {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + name + `":`)
			b.Write(value)
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}
