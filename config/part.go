package config

import (
	"bytes"
	"encoding/json"
)

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
			comma(&b, '{')
			b.WriteString(quote(name) + ":")
			b.Write(value)
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}
