package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// SHA256 identifies the configuration that is in force, in hex: it includes the environment,
// --set and defaults. Comments, the order of fields and the way in which numbers are written
// make no difference. Of the key it covers the place alone; nothing secret is in it.
func (p *Pipeline) SHA256() string {
	sum := sha256.Sum256(p.canonical())
	return hex.EncodeToString(sum[:])
}

// canonical is the configuration that is in force as JSON. Loaded, it gives the same
// configuration.
func (p *Pipeline) canonical() []byte { return form.Canonical(root(), p) }

// Part returns the named top-level fields of the configuration in force, as JSON, to be
// compared with the same part of another one. Nothing secret is in it.
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
