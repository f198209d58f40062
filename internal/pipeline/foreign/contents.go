package foreign

import (
	"context"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostCategories is the number of different values above which those of a column are not counted.
const mostCategories = 1000

// ContentsOf reads a data file for the comparison of two releases. missing are declared codes for missing values.
func ContentsOf(ctx context.Context, c connectors.SourceConfig, missing map[string]*microdata.Missing,
	progress *pipeline.Progress) (*report.Contents, error) {
	src, err := pipeline.OpenSource(ctx, &config.Pipeline{Source: config.Source{Config: c}})
	if err != nil {
		return nil, pipeline.DataErrorf("%v", err)
	}
	defer src.Close()
	if !src.Rewindable() {
		return nil, pipeline.DataErrorf("what is compared is read twice: give a file")
	}
	schema := src.Schema()
	if err := pipeline.DeclareCodes(schema, missing); err != nil {
		return nil, err
	}
	found := &report.Contents{Columns: make([]report.ColumnContents, len(schema.Fields))}
	layout := &microdata.Layout{Schema: schema}
	numeric := false
	for i, f := range schema.Fields {
		found.Columns[i] = report.ColumnContents{Name: f.Name, Type: f.Type.String()}
		if f.Numeric() {
			numeric = true
			continue
		}
		found.Columns[i].Categories = map[string]int64{}
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
	}
	if err := countTexts(ctx, src, layout, found, progress); err != nil || !numeric {
		return found, err
	}
	profile, err := pipeline.ProfileSource(ctx, c, missing, progress)
	if err != nil {
		return nil, err
	}
	found.Records = profile.Records
	for i := range found.Columns {
		column := &found.Columns[i]
		if column.Numbers = profile.Column(column.Name); column.Numbers != nil {
			column.Missing = column.Numbers.Nulls
		}
	}
	return found, nil
}

// countTexts counts the values of the columns that hold no numbers, and the records.
func countTexts(ctx context.Context, src connectors.Source, layout *microdata.Layout, found *report.Contents,
	progress *pipeline.Progress) error {
	if len(layout.Read) == 0 {
		return nil
	}
	progress.Start("profile", src.Records())
	pass := pipeline.Flow{Source: src, Layout: layout,
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			found.Records += int64(p.Block.N)
			for k, w := range layout.Read {
				countColumn(&found.Columns[w.Field], &p.Block.Columns[k], p.Block.N)
			}
			progress.Add(p.Block.N)
			return nil
		}}}
	return pass.Run(ctx)
}

// countColumn counts the values of a block; those of a column with too many are given up.
func countColumn(column *report.ColumnContents, values *microdata.Column, n int) {
	list := values.Array
	for i := range n {
		switch {
		case list.IsNull(i): // also of declared codes, which the pass has cleared
			column.Missing++
		case column.Categories != nil:
			column.Categories[list.ValueStr(i)]++
			if len(column.Categories) > mostCategories {
				column.Categories = nil
			}
		}
	}
}
