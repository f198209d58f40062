package parquet

import (
	"context"
	"fmt"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
)

// Divide implements connectors.Divisible: a part is a run of row groups.
func (s *source) Divide(ctx context.Context, bytes int64, cut connectors.Cut) ([]connectors.Part, error) {
	var parts []connectors.Part
	for i, st := range s.streams {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := connectors.Part{Stream: i}
		size := int64(0)
		for g := range st.RowGroups {
			aligned := !cut.Exact || (p.First+p.Records)%int64(cut.Records) == 0
			if p.Records > 0 && size+stored(&st.RowGroups[g]) > bytes && aligned {
				parts = append(parts, p)
				p, size = connectors.Part{Stream: i, First: p.First + p.Records, From: int64(g)}, 0
			}
			p.Records += st.RowGroups[g].NumRows
			p.To = int64(g) + 1
			size += stored(&st.RowGroups[g])
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// stored returns the size of a row group in the file.
func stored(rg *rowGroup) (size int64) {
	for i := range rg.Columns {
		size += rg.Columns[i].MetaData.V.TotalCompressedSize
	}
	return size
}

// Part implements connectors.Divisible.
func (s *source) Part(p connectors.Part) (connectors.Source, error) {
	if p.Stream < 0 || p.Stream >= len(s.streams) {
		return nil, fmt.Errorf("stream %d: the source has %d", p.Stream, len(s.streams))
	}
	st := s.streams[p.Stream]
	if st.unopened {
		return nil, st.file.Err(files.ErrNotOpened)
	}
	if p.From < 0 || p.To < p.From || p.To > int64(len(st.RowGroups)) {
		return nil, fmt.Errorf("%s: row groups %d to %d: the file has %d", st.file.Label, p.From+1, p.To, len(st.RowGroups))
	}
	first, records := int64(0), int64(0)
	for g := range st.RowGroups[:p.To] {
		if int64(g) < p.From {
			first += st.RowGroups[g].NumRows
		} else {
			records += st.RowGroups[g].NumRows
		}
	}
	if first != p.First || records != p.Records {
		return nil, fmt.Errorf("%s: row groups %d to %d hold other records than the part says", st.file.Label, p.From+1, p.To)
	}
	part := *s
	part.part, part.records = &p, records
	return &part, nil
}

// Stored implements connectors.Divisible.
func (s *source) Stored(stream int) (connectors.Stored, error) {
	if st := s.streams[stream]; st.unopened {
		file, _, err := st.file.Open()
		return files.Stored(file, err)
	}
	return files.Stored(s.streams[stream].reopen())
}

// Folder is of connectors.SourceAbilities: a release of a part is one file.
func (s *source) Folder() bool { return s.part == nil && s.Watch.Folder() }

// bounds returns the first stream and row group that are read, the number of rows before
// them, and the stream and row at which reading ends.
func (s *source) bounds() (stream, group int, row int64, last int, until int64) {
	if s.part == nil {
		return 0, 0, 0, len(s.streams), -1
	}
	p := s.part
	return p.Stream, int(p.From), p.First, p.Stream + 1, p.First + p.Records
}
