package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// keyedSink is the configuration of a sink of messages with a column as the key.
type keyedSink struct {
	connectors.SinkConfig
	key  string
	json bool
}

func (k *keyedSink) Abilities() connectors.SinkConfigAbilities {
	json := func(connectors.SourceConfig) bool { return k.json }
	return connectors.SinkConfigAbilities{KeyColumn: k.key, WritesJSON: json}
}

// mixedTexts is a table in which some columns contain JSON values of several kinds.
type mixedTexts struct {
	*table
	mixed []string
}

func (m *mixedTexts) Abilities() connectors.SourceAbilities {
	can := m.table.Abilities()
	can.JSONText = func(field int) bool { return slices.Contains(m.mixed, m.fields[field].Name) }
	return can
}

// If the types of columns do not allow masks, keys or identities, they are refused with their
// place, at the first column and at the last.
func TestTypesThatDoNotFit(t *testing.T) {
	nested := arrow.ListOf(arrow.PrimitiveTypes.Float64)
	union := arrow.DenseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Float64}}, []arrow.UnionTypeCode{0})
	const all = "columns: {id: {role: other}, wage: {role: sensitive}, region: {role: key}, kind: {role: other}}\n"
	for _, c := range []struct {
		name, rest, want string
		types            map[string]arrow.DataType
		sink             *keyedSink
		mixed            []string
	}{
		{name: "categories of lists",
			rest:  columns + "masks: [{noise: {columns: [wage], sd: 3}}, {recode: {columns: [region], map: {a: b}}}]\n",
			types: map[string]arrow.DataType{"region": nested}, want: "masks[1].recode.columns: region is nested"},
		{name: "numbers before text",
			rest: columns +
				"masks: [{noise: {columns: [wage], sd: 3}}, {recode: {columns: [wage], breaks: [0, 5, 9], labels: [low, high]}}]\n",
			want: "masks[1].recode.columns: wage becomes text here, and mask [0] (noise) computes with its numbers before that"},
		{name: "other numbers before text",
			rest: strings.Replace(columns, "kind: {role: other}", "kind: {role: sensitive}", 1) +
				"masks: [{noise: {columns: [kind], sd: 3}}, {recode: {columns: [wage], breaks: [0, 5, 9], labels: [low, high]}}]\n",
			types: map[string]arrow.DataType{"kind": arrow.PrimitiveTypes.Float64}},
		{name: "moved before text",
			rest: columns +
				"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}, {recode: {columns: [wage], breaks: [0, 5, 9], labels: [low, high]}}]\n"},
		{name: "shuffle on text", rest: all + "masks: [{shuffle: {columns: [wage], on: [id, kind]}}]\n",
			types: map[string]arrow.DataType{"id": arrow.PrimitiveTypes.Float64},
			want:  "masks[0].shuffle.on[1]: kind is string, and shuffle needs numbers to go by"},
		{name: "shuffle on numbers", rest: columns + "masks: [{shuffle: {columns: [wage], on: [kind]}}]\n",
			types: map[string]arrow.DataType{"kind": arrow.PrimitiveTypes.Float64}},
		{name: "texts of several kinds, masked", rest: all + "masks: [{recode: {columns: [id], map: {a: b}}}]\n",
			mixed: []string{"id"}, want: "masks[0].recode.columns: id contains JSON values of several types"},
		{name: "texts of several kinds, not masked", rest: all + "masks: [{recode: {columns: [id], map: {a: b}}}]\n",
			mixed: []string{"kind"}},
		{name: "texts of several kinds, compared",
			rest:  columns + "masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}]\n",
			mixed: []string{"kind"}},
		{name: "a union into columns of one type", rest: all + "masks: [{noise: {columns: [wage], sd: 3}}]\nidentity: [id]\n",
			types: map[string]arrow.DataType{"id": union}, sink: &keyedSink{}, want: "id"},
		{name: "a union into JSON", rest: all + "masks: [{noise: {columns: [wage], sd: 3}}]\n",
			types: map[string]arrow.DataType{"id": union}, sink: &keyedSink{json: true}},
		{name: "a union that is released", rest: all + "masks: [{noise: {columns: [wage], sd: 3}}]\n",
			types: map[string]arrow.DataType{"kind": union}, sink: &keyedSink{},
			want: "columns.kind: is an identity column of JSON messages"},
		{name: "inversion of a number",
			rest: columns +
				"masks: [{noise: {columns: [wage], sd: 3}}, {recode: {columns: [region], map: {'1': '2'}}}]\nassess: {keys: [kind, region], intruder: {inversion: true}}\n", types: map[string]arrow.DataType{"region": arrow.PrimitiveTypes.Int64}, want: "assess.intruder.inversion: infers categories of categorical keys only, but masks[1].recode changes \"region\""},
		{name: "inversion of a key",
			rest: columns +
				"masks: [{noise: {columns: [wage], sd: 3}}, {recode: {columns: [region], map: {a: b}}}]\nassess: {keys: [region], intruder: {inversion: true}}\n"},
	} {
		p := parsed(t, t.TempDir(), c.rest)
		if c.sink != nil {
			c.sink.SinkConfig = p.Sink.Config
			p.Sink.Config = c.sink
		}
		src := &mixedTexts{&table{fields: fieldsOf(c.types)}, c.mixed}
		pl, err := newPlan(p, nil, src, true)
		if (err == nil) != (c.want == "") || (pl == nil) != (err != nil) || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if err := (&Plan{}).SurveyError(errors.ErrUnsupported); err != errors.ErrUnsupported ||
		(&Plan{}).SurveyError(nil) != nil {
		t.Errorf("SurveyError changes an error that is not about the data: %v", err)
	}
	// A column without any value is numeric if a mask computes with it.
	unseen := &table{fields: fieldsOf(map[string]arrow.DataType{"wage": arrow.BinaryTypes.String})}
	for i := range unseen.fields {
		unseen.fields[i].Unseen = true
	}
	if _, err := newPlan(
		parsed(t, t.TempDir(),
			columns+"masks: [{recode: {columns: [kind], map: {a: b}}}, {noise: {columns: [wage], sd: 3}}]\n"), nil, unseen,
		true); err != nil {
		t.Errorf("columns without values: error %v", err)
	}
	for i, f := range unseen.fields {
		if (f.Type == arrow.PrimitiveTypes.Float64) != (f.Name == "wage") {
			t.Errorf("column %d, %s, has the type %s", i, f.Name, f.Type)
		}
	}
	// The messages' key is decoded, in addition to the columns that masks need.
	for _, key := range []string{"", "kind", "region", "gone"} {
		p := parsed(t, t.TempDir(), columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
		p.Sink.Config = &keyedSink{SinkConfig: p.Sink.Config, key: key}
		pl, err := newPlan(p, nil, &table{fields: fieldsOf(nil)}, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range pl.Layout.Release {
			want := out.Field.Name == "wage" || out.Field.Name == key
			if (out.Column >= 0) != want || out.Column >= 0 && out.Field.Name == key &&
				pl.Layout.Read[out.Column].As != microdata.Array {
				t.Errorf("key %q: the output %s has the column %d", key, out.Field.Name, out.Column)
			}
		}
	}
	p := parsed(t, t.TempDir(),
		columns+"masks: [{noise: {columns: [wage], sd: 3}}]\nassess: {intruder: {linkage: {distance: gower}}}\n")
	pl, err := newPlan(p, nil, &table{fields: fieldsOf(map[string]arrow.DataType{"region": nested})}, true)
	if err != nil || !slices.Equal(pl.Intruder.Left, []string{"region"}) || len(pl.Intruder.Counted) > 0 {
		t.Errorf("a key of lists: error %v, plan %+v, want the key left out", err, pl)
	}
	for i := range p.Columns {
		p.Columns[i].Role = microdata.Identifier
	}
	p.Masks = nil
	if pl, err := newPlan(p, nil, &table{fields: fieldsOf(nil)}, true); pl != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "columns: no column of the source would be released") {
		t.Errorf("no released column: NewPlan returns %v and error %v", pl, err)
	}
	pl = &Plan{Config: new(config.Pipeline)}
	if err := pl.surveyTwice(); err == nil || !strings.HasPrefix(err.Error(), "masks: a mask looks at all records") {
		t.Errorf("without a mask that looks at all records: error %v", err)
	}
}
