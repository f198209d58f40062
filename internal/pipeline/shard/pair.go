package shard

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// sections are the parts of a survey or a pairing; each may be empty.
type sections [3][]byte

const (
	ofChain     = iota // what swaps of scope dataset have found; of a pairing, what they have decided
	ofDisplacer        // the combinations whose numbers are exchanged; of a pairing, the expected changes for them
	ofValues           // the distribution of the exchanged numbers; of a pairing, the brackets of the targets
)

func (s *sections) join() (text []byte) {
	for _, section := range s {
		text = binary.AppendUvarint(text, uint64(len(section)))
		text = append(text, section...)
	}
	return text
}

var errDamaged = errors.New("the result of the survey is damaged, or was made with other masks")

func split(text []byte) (s sections, err error) {
	for i := range s {
		n, k := binary.Uvarint(text)
		if k <= 0 || n > uint64(len(text)-k) {
			return s, errDamaged
		}
		s[i], text = text[k:k+int(n)], text[k+int(n):]
	}
	if len(text) > 0 {
		return s, errDamaged
	}
	return s, nil
}

// exchanges reports whether swaps exchange numbers whose change is measured.
func (j *job) exchanges() bool { return j.masked.Plan.Displacer != nil && j.masked.Plan.Measures() }

// paired reports whether shards need a survey and a pairing before they run.
func (j *job) paired() bool { return j.masked.Chain.NeedsSurvey() || j.exchanges() }

// originals returns an accumulator for the numbers of a survey, which reads no columns beside them.
func (j *job) originals() (*assess.Accumulator, error) {
	if err := j.masked.Assess(); err != nil {
		return nil, err
	}
	options := j.masked.Options
	options.Beside = nil
	return assess.New(options)
}

// pairing has the surveys of all shards, merged.
type pairing struct {
	*job
	manifest *Manifest
	paths    []string // of the surveys, by shard
	numbers  *assess.Accumulator
}

// Pair merges the surveys of all shards and has the swaps of scope dataset decide. For each
// shard it writes into the folder to the values that its records receive, and the expected
// change of those whose numbers may be exchanged.
func Pair(ctx context.Context, p *config.Pipeline, m *Manifest, surveys, to string, o pipeline.Options) error {
	if err := m.paired(0); err != nil {
		return err
	}
	ctx, o = o.Ready(ctx)
	paths, err := m.surveys(ctx, surveys)
	if err != nil {
		return err
	}
	// This reads nothing of the source: each shard checks its own files, and the commit all of
	// them.
	j, err := resume(ctx, p, m, none, none, o)
	if err != nil {
		return err
	}
	defer j.source.Close()
	w := &pairing{job: j, manifest: m, paths: paths}
	if err := w.merge(ctx, o.Progress); err != nil {
		return err
	}
	return w.write(ctx, to)
}

// merge merges all surveys, in the order of the shards, and has the masks decide.
func (w *pairing) merge(ctx context.Context, progress *pipeline.Progress) (err error) {
	if w.exchanges() {
		if w.numbers, err = w.originals(); err != nil {
			return err
		}
	}
	progress.Start("pair", int64(len(w.paths)))
	for i, path := range w.paths {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		found, err := w.survey(ctx, i)
		if err != nil {
			return err
		}
		if err := w.take(i, found); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		progress.Add(1)
	}
	if w.exchanges() {
		w.masked.Plan.Displacer.EndSurvey()
	}
	if !w.masked.Chain.NeedsSurvey() {
		return nil
	}
	return w.masked.Plan.EndSurvey(ctx, w.masked.Chain)
}

// survey reads the survey of a shard.
func (w *pairing) survey(ctx context.Context, shard int) (sections, error) {
	s, err := w.manifest.readSurveyed(ctx, w.paths[shard], surveyMagic, "survey", shard)
	if err != nil {
		return sections{}, err
	}
	found, err := split(s.content)
	if err != nil {
		err = fmt.Errorf("%s: %w", w.paths[shard], err)
	}
	return found, err
}

// take adds the survey of a shard, which must be of just the shard's records.
func (w *pairing) take(shard int, found sections) error {
	of := w.manifest.Shards[shard]
	if w.masked.Chain.NeedsSurvey() {
		if err := w.masked.Plan.SurveyError(w.masked.Chain.MergeSurvey(found[ofChain], of.stretches())); err != nil {
			return err
		}
	}
	if w.numbers == nil {
		return nil
	}
	if err := w.masked.Plan.Displacer.MergeSurvey(found[ofDisplacer], of.Records); err != nil {
		return err
	}
	one, err := w.values(found)
	switch {
	case err != nil:
		return err
	case one.Records() > of.Records:
		return errDamaged
	}
	return w.numbers.Merge(one)
}

// values returns the accumulator of the exchanged numbers of a survey.
func (w *pairing) values(found sections) (*assess.Accumulator, error) {
	one, err := w.originals()
	if err != nil {
		return nil, err
	}
	return one, one.UnmarshalBinary(found[ofValues])
}

// write writes the decisions for each shard.
func (w *pairing) write(ctx context.Context, to string) error {
	var targets []pipeline.Sought
	if w.numbers != nil {
		for _, c := range w.masked.Plan.Assessed {
			for _, b := range w.numbers.Brackets(c.Name) {
				targets = append(targets, pipeline.Sought{Bracket: b})
			}
		}
	}
	all := make([]*Surveyed, len(w.paths))
	digests := make([][sha256.Size]byte, len(all))
	for i := range all {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		decided, err := w.decided(ctx, i, targets)
		if err != nil {
			return err
		}
		text := decided.join()
		digests[i] = sha256.Sum256(text)
		all[i] = &Surveyed{Plan: w.manifest.id, Shard: i, magic: pairsMagic, content: text}
	}
	pairing := w.manifest.pairingOf(digests)
	for i, s := range all {
		s.Pairing = pairing
		if err := s.Write(pairsPath(to, i)); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// decided returns the decisions for the records of one shard. It adds this shard's values to
// the counts of values before the next one.
func (w *pairing) decided(ctx context.Context, shard int, targets []pipeline.Sought) (s sections, err error) {
	if w.masked.Chain.NeedsSurvey() {
		if s[ofChain], err = w.masked.Chain.MarshalDecisions(w.manifest.Shards[shard].stretches()); err != nil {
			return s, err
		}
	}
	if w.numbers == nil {
		return s, nil
	}
	found, err := w.survey(ctx, shard)
	if err != nil {
		return s, err
	}
	if s[ofDisplacer], err = w.masked.Plan.Displacer.MarshalDecisions(found[ofDisplacer]); err != nil {
		return s, fmt.Errorf("%s: %w", w.paths[shard], err)
	}
	if s[ofValues], err = json.Marshal(targets); err != nil {
		return s, err
	}
	one, err := w.values(found)
	for i := range targets {
		targets[i].Before += one.Within(targets[i].Bracket)
	}
	return s, err
}

// stretches returns the places of a shard's records.
func (s *Shard) stretches() (of []transform.Stretch) {
	for _, p := range s.Parts {
		of = append(of, transform.Stretch{Stream: p.Stream, First: p.First, N: p.Records})
	}
	return of
}

// receive gives the masks of a shard the decisions for its records, and returns the brackets of the targets.
func (w *worker) receive(pairs *Surveyed, of *Shard) (targets []pipeline.Sought, err error) {
	decided, err := split(pairs.content)
	if err != nil {
		return nil, err
	}
	if w.masked.Chain.NeedsSurvey() {
		if err := w.masked.Chain.UseDecisions(decided[ofChain], of.stretches()); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(pairs.content)
	w.state.Pairing, w.state.Pairs = pairs.Pairing, sum[:]
	if !w.exchanges() {
		return nil, nil
	}
	if err := w.masked.Plan.Displacer.UseDecisions(decided[ofDisplacer]); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(decided[ofValues], &targets); err != nil {
		return nil, errDamaged
	}
	return targets, nil
}
