package tabling

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// resolve reads the release key if tables of a source need one.
func (r *records) resolve(o pipeline.Options) error {
	if !r.config.Keyed() {
		return nil
	}
	key, err := r.config.Key.Resolve()
	if err != nil {
		return pipeline.DataErrorf("%v", err)
	}
	for _, warning := range r.config.Key.Warnings(key) {
		o.Log.Warn().Msg(warning)
	}
	r.key, r.keyID = key, key.ID()
	return nil
}

// identified returns an error if the records of the tables need keys and the pipeline does not
// name the columns that identify its respondents.
func (r *records) identified(p *config.Pipeline) error {
	if r.config.Keyed() && len(p.Identity) == 0 {
		return config.Errors{
			r.config.Errorf("pipeline",
				"must have an identity: by cell_key the same contributors must get the same change in every table and release")}
	}
	return nil
}

// keyed gives the records of a family keys, from the columns that identify a respondent. It reads
// these columns unmasked, so that a respondent has the same key in every release.
func (r *records) keyed(f *family) {
	f.options.Keys = true
	f.columns.Key = r.recordKeys().Record
	if r.masks != nil {
		f.columns.Digests = func(b *microdata.Block) []microdata.Digest { return b.Digests }
		return
	}
	var at []int
	for i, name := range r.config.Identity {
		path := fmt.Sprintf("identity[%d]", i)
		schema := r.source.Schema()
		field := schema.Index(name)
		if field >= 0 && !keystream.CanIdentify(schema.Fields[field].Type) {
			r.wrong(path, "must be a column that can identify a record, got %s, which is %s", name,
				microdata.TypeName(schema.Fields[field].Type))
			return
		}
		index := r.wantAs(path, name, microdata.Array, true, true)
		if index < 0 {
			return
		}
		at = append(at, index)
	}
	f.columns.Digests = func(b *microdata.Block) []microdata.Digest {
		columns := make([]*microdata.Column, len(at))
		for i, index := range at {
			columns[i] = &b.Columns[index]
		}
		return r.key.Digests(nil, columns, b.N)
	}
}

// known gives the contributors of a family the same identities in the records of all times, from the columns that
// identify them. Nobody is the same as a record without them.
func (r *records) known(f *family) {
	if r.identity == nil {
		for i, name := range r.config.Identity {
			if at := r.wantAs(fmt.Sprintf("identity[%d]", i), name, microdata.Array, true, true); at >= 0 {
				r.identity = append(r.identity, at)
			}
		}
	}
	f.columns.Who = func(b *microdata.Block, rows []int) []uint64 {
		who := tabulate.PlacesOf(b, rows)
		texts := make([]func(int) (string, bool), len(r.identity))
		for k, at := range r.identity {
			texts[k] = tabulate.Texts(&b.Columns[at])
		}
		for i, row := range rows {
			key, all := []byte{0}, true
			for _, text := range texts {
				s, has := text(row)
				all = all && has
				key = append(binary.LittleEndian.AppendUint32(key, uint32(len(s))), s...)
			}
			if !all {
				key = binary.LittleEndian.AppendUint64([]byte{1, byte(r.vintage)}, who[i])
			}
			sum := sha256.Sum256(key)
			who[i] = binary.LittleEndian.Uint64(sum[:])
		}
		return who
	}
}

func (r *records) recordKeys() *perturb.Keys {
	if r.keys == nil {
		r.keys = perturb.NewKeys(r.key)
	}
	return r.keys
}
