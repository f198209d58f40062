package form

import yaml "go.yaml.in/yaml/v3"

// Replace returns the edit that gives a member of a mapping, which must not be empty, a
// value in braces or brackets, or a plain scalar, whatever stands there now; a member that
// is not there is added.
func (d *Document) Replace(mapping *yaml.Node, name, text string) Edit {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if key.Value != name || value.Kind == yaml.ScalarNode || flow(value) {
			continue
		}
		// A block: from behind the colon to its end, with the comments within.
		start := d.end(key, 0)
		for start < len(d.text) && d.text[start] != ':' {
			start++
		}
		return Edit{start + 1, d.end(value, mapping.Column-1), " " + text}
	}
	return d.Set(mapping, name, text, false)
}
