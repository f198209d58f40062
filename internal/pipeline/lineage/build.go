package lineage

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// Where the schemas are, of the versions that testdata holds.
const (
	ofEvent      = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
	ofFacets     = "https://openlineage.io/spec/facets/"
	ofEngine     = ofFacets + "1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet"
	ofJobType    = ofFacets + "2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet"
	ofError      = ofFacets + "1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
	ofSchema     = ofFacets + "1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"
	ofColumns    = ofFacets + "1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
	ofQuality    = ofFacets + "1-0-0/DataQualityMetricsDatasetFacet.json#/$defs/DataQualityMetricsDatasetFacet"
	ofStatistics = ofFacets + "1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet"
	ofVersion    = ofFacets + "1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet"
	ofGate       = "https://github.com/sdlfilter/sdlfilter/blob/main/docs/lineage/1-0-0/GateRunFacet.json#/$defs/GateRunFacet"

	producer = "https://github.com/sdlfilter/sdlfilter"
)

func made(schema string) facet { return facet{Producer: producer, SchemaURL: schema} }

// Job is what a run does: it releases one table, or several together.
type Job struct {
	Name     string
	Lineage  *config.Lineage // nil: no events are wanted
	Tables   []*config.Pipeline
	Demanded bool // whether there are rules beside those of the tables' own gates
}

// Ending is how a run has ended.
type Ending struct {
	Results   []*account.Result // of each table of the job; nil where there are none
	Signalled bool              // a signal ended the run, before anything was published
	Published bool              // there are no results, but the release is published, or may be
}

// withheld reports whether a gate kept the release; with several tables all are kept if one is.
func (e Ending) withheld() bool {
	return slices.ContainsFunc(e.Results, func(r *account.Result) bool { return r.Refused() || !r.Report.Gate.Passed })
}

// event is one of the run, without its outputs.
func (r *Run) event(kind string, now time.Time) *Event {
	all := []dataset{}
	for _, p := range r.job.Tables {
		all = append(all, inputsOf(p)...)
	}
	return &Event{
		Time: now.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Type: kind, Producer: producer, SchemaURL: ofEvent,
		Run: execution{ID: r.id, Facets: facets{"processing_engine": engine{made(ofEngine), "sdlfilter", r.version}}},
		Job: job{
			Namespace: r.job.Lineage.Namespace, Name: r.job.Name,
			Facets: facets{"jobType": jobType{made(ofJobType), "BATCH", "SDLFILTER", "JOB"}},
		},
		Inputs: all, Outputs: []dataset{},
	}
}

func inputsOf(p *config.Pipeline) []dataset {
	return datasets(p.SourcePath(), p.Source.Abilities().ConfigAbilities)
}

// ended is the event of the end. Only what was published, or may have been, is an output.
func (r *Run) ended(e Ending, now time.Time) *Event {
	switch {
	case e.Published:
		out := r.failed(failed, "published, or perhaps published, but not its report", now)
		for _, p := range r.job.Tables {
			out.Outputs = append(out.Outputs, outputsOf(p)...)
		}
		return out
	case e.Results == nil && e.Signalled:
		return r.failed(aborted, "ended by a signal", now)
	case e.Results == nil:
		return r.failed(failed, "the run failed; the job's own log says why", now)
	case e.withheld():
		out := r.failed(failed, "the gate withheld the release", now)
		out.Run.Facets["sdlfilter_gate"] = r.gateOf(e, "withheld")
		return out
	}
	out := r.event(completed, now)
	out.Run.Facets["sdlfilter_gate"] = r.gateOf(e, "released")
	for t, p := range r.job.Tables {
		own := outputsOf(p)
		for i := range own {
			describe(&own[i], i, len(own), inputsOf(p), e.Results[t])
		}
		out.Outputs = append(out.Outputs, own...)
	}
	return out
}

func (r *Run) failed(kind, why string, now time.Time) *Event {
	out := r.event(kind, now)
	out.Run.Facets["errorMessage"] = errorMessage{made(ofError), why, "Go"}
	return out
}

func (r *Run) gateOf(e Ending, verdict string) gate {
	return gate{made(ofGate), verdict, r.job.Demanded ||
		slices.ContainsFunc(e.Results, func(r *account.Result) bool { return len(r.Report.Gate.Rules) > 0 })}
}

// outputsOf are the datasets of a table's release: one, or one for each copy.
func outputsOf(p *config.Pipeline) (list []dataset) {
	for number := 1; number <= p.Copies(); number++ {
		one := p
		if p.Copies() > 1 {
			one = p.OfCopy(number)
		}
		list = append(list, datasets(one.SinkPath(), one.Sink.Abilities().ConfigAbilities)...)
	}
	return list
}

// describe adds the facets of release number i, from 0, of n. What a public report has of a release is taken from
// there.
func describe(out *dataset, i, n int, from []dataset, result *account.Result) {
	public := result.Report.Public(nil)
	out.Facets, out.OutputFacets = facets{}, facets{}
	rows := statistics{facet: made(ofStatistics), Rows: public.Records.Released}
	if id := releaseOf(public, i, n); id != nil {
		rows.Bytes = &id.Bytes
		out.Facets["version"] = datasetVersion{made(ofVersion), id.SHA256}
	}
	out.OutputFacets["outputStatistics"] = rows
	if i == 0 { // the figures of a report are those of the first copy
		counts := quality{made(ofQuality), public.Records.Released, map[string]columnCounts{}}
		for _, c := range public.Columns {
			counts.Columns[c.Name] = columnCounts{c.Value.Released.Nulls, c.Value.Released.N}
		}
		out.Facets["dataQualityMetrics"] = counts
	}
	if result.Schema == nil {
		return
	}
	columns, lineage := schema{facet: made(ofSchema)}, columnLineage{made(ofColumns), map[string]inputs{}}
	for _, f := range result.Schema.Fields {
		columns.Fields = append(columns.Fields, field{f.Name, f.Type.String()})
		lineage.Fields[f.Name] = inputs{comesFrom(f.Name, from, public.Masks)}
	}
	out.Facets["schema"], out.Facets["columnLineage"] = columns, lineage
}

func releaseOf(public *report.Public, i, n int) *report.Release {
	switch id := public.Release; {
	case id == nil || n == 1:
		return id
	case i < len(id.Copies):
		return &id.Copies[i]
	}
	return nil
}

// comesFrom is the column of the same name in each input, with the masks on it in their order. What else masks read is
// not named: it may be columns that do not leave.
func comesFrom(column string, from []dataset, masks []report.PublicMask) []inputField {
	var steps []transformation
	for _, m := range masks {
		if slices.Contains(m.Columns, column) {
			steps = append(steps, transformation{"DIRECT", "TRANSFORMATION", m.Mask, true})
		}
	}
	if steps == nil {
		steps = []transformation{{"DIRECT", "IDENTITY", "unmasked", false}}
	}
	list := []inputField{}
	for _, in := range from {
		list = append(list, inputField{in.Namespace, in.Name, column, steps})
	}
	return list
}

// datasets are the names of a source or a sink: its path, its table, or its topics.
func datasets(path string, can connectors.ConfigAbilities) []dataset {
	switch topics := can.Topics; {
	case can.Dataset.Namespace != "":
		return []dataset{{Namespace: can.Dataset.Namespace, Name: can.Dataset.Name}}
	case topics != nil:
		names := topics.Names
		if topics.Pattern != "" {
			names = append(slices.Clip(names), topics.Pattern)
		}
		var list []dataset
		for _, name := range names {
			list = append(list, dataset{Namespace: "kafka://" + slices.Min(topics.Brokers), Name: name})
		}
		return list
	case objectpath.Is(path):
		scheme, rest, _ := strings.Cut(path, "://")
		bucket, key, _ := strings.Cut(rest, "/")
		return []dataset{{Namespace: (&url.URL{Scheme: scheme, Host: bucket}).String(), Name: key}}
	}
	if abs, err := filepath.Abs(path); err == nil && path != "-" {
		path = abs
	}
	return []dataset{{Namespace: "file", Name: path}}
}
