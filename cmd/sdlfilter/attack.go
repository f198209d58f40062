package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/picture"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	attackjob "github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/foreign"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// attackFlags are the flags of attack.
type attackFlags struct {
	original, released string
	earlier            []string
	format             sourceFlags
	missing            missingFlags
	foreign            foreign.Attack
	distance           string
	oneToOne           bool
	targets            int
	knowledge          string
	phi, sigma         string
	phiPrior           string
	sigmaPrior         string
	threshold          float64
	population         int
	alpha              float64
	estimator          string
	count              string
	intervals          []float64
	records            string
	referee            refereeFlags
	out                measuredFlags
	flags              *pflag.FlagSet
}

func (s *state) attackCommand() *cobra.Command {
	a := &attackFlags{}
	cmd := &cobra.Command{
		Use:   "attack CONFIG | --original A --released B --keys a,b | --original A --released B --control C | --original A --categorical c,d",
		Short: "Try to find respondents again in a release",
		Long: `The intruder: how many respondents can be found again by what is known of them,
by linkage (the nearest released record), by the Bayesian intruder of Trottini,
Fienberg, Makov and Meyer (2004), and by combinations of categorical keys that few
records share; and what the masking costs beside it.

With a configuration, its masks are applied to its source, and the intruder knows
assess.keys; nothing is released. With --original and --released, a release that
any tool made: numeric --keys are linked, --categorical ones of any type are
counted: how many released records can be a respondent's for who knows the original
keys (--count released: how many have equal released keys). Records are matched by
position or, with --id, by a column. With --original alone, the uniqueness of one
file.

The Bayesian intruder is asked for by --knowledge: d1 knows bias and noise of the
masks (--phi, --sigma: a number for all keys, or key=number,…), d2 has priors of
their variances (--phi-prior, --sigma-prior: shape,scale).

With --control, a release whose records need not correspond to original ones, as
synthetic data: singling out, linkability (--aux a,b --aux c,d) and inference
(--secrets), distances to the closest record, membership, and how like the original
the release is, in the order of ISO/IEC 27559. The control file holds records of the
same population that the release was not made of. --models compares regressions.`,
		Args: atMostOneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return s.attackConfigured(cmd, args[0], a)
			}
			return s.attackForeign(cmd, a)
		},
	}
	f := cmd.Flags()
	a.flags = f
	f.StringVar(&a.original, "original", "", "the original records: a file, a folder or a glob")
	f.StringVar(&a.released, "released", "", "the released records")
	f.StringSliceVar(&a.earlier, "earlier", nil,
		"earlier releases of the same respondents: what does the mean of them all give away?")
	f.StringVar(&a.foreign.ID, "id", "",
		"the column that identifies a record in all files; by position where none is given")
	f.StringSliceVar(&a.foreign.Keys, "keys", nil, "numeric columns that the intruder knows, which are linked")
	f.StringSliceVar(&a.foreign.Categorical, "categorical", nil,
		"columns that the intruder knows, whose combinations are counted")
	f.StringSliceVar(&a.foreign.Sensitive, "sensitive", nil, "columns whose l-diversity is measured")
	f.StringVar(&a.foreign.Weight, "weight", "", "the column of sampling weights; without it the file is the population")
	f.StringVar(&a.foreign.Household, "household", "", "the column that tells households apart")
	f.StringSliceVar(&a.foreign.Person, "person", nil,
		"the columns that tell whose each record is: all records of a person are also counted together")
	f.StringVar(&a.distance, "distance", "standardised",
		"standardised, mahalanobis, gower (with categorical keys) or ranks")
	f.BoolVar(&a.oneToOne, "one-to-one", false, "also the best assignment of all targets at once, at most 5,000 records")
	f.IntVar(&a.targets, "targets", 0, "respondents that are sought, evenly over the file; all where 0")
	f.StringVar(&a.knowledge, "knowledge", "", "the Bayesian intruder's: d1 or d2")
	f.StringVar(&a.phi, "phi", "", "d1: the SD of the multiplicative bias")
	f.StringVar(&a.sigma, "sigma", "", "d1: the SD of the noise, in the key's unit")
	f.StringVar(&a.phiPrior, "phi-prior", "", "d2: shape,scale of the inverse gamma prior of the bias' variance")
	f.StringVar(&a.sigmaPrior, "sigma-prior", "", "d2: shape,scale of the inverse gamma prior of the noise's variance")
	f.Float64Var(&a.threshold, "threshold", 0, "a link is made where the greatest posterior exceeds it")
	f.IntVar(&a.population, "population", 0,
		"size of the population that the released records are of; they are all of it where 0")
	f.Float64Var(&a.alpha, "alpha", 1, "the weight with which a missing categorical value matches, 0 to 1")
	f.StringVar(&a.count, "count", uniqueness.CountSnooper,
		"how k is counted: snooper, the released records that can be a respondent's by the original keys, or released, those with equal released keys, as other tools do")
	f.StringVar(&a.estimator, "estimator", "approx",
		"of the individual risk: approx, the formula of other tools, or exact")
	f.Float64SliceVar(&a.intervals, "interval", []float64{0.05}, "widths of interval disclosure, in standard deviations")
	f.StringVar(&a.records, "records", "",
		"a file for one row per record: frequencies, risks, scores, linked share; readable by its owner alone")
	a.referee.add(f)
	a.out.add(f)
	a.format.add(f)
	a.missing.add(f)
	s.configFlags(cmd)
	completeWords(cmd)
	return cmd
}

// attackConfigured lets the intruder at what a configuration's masks would release.
func (s *state) attackConfigured(cmd *cobra.Command, path string, a *attackFlags) error {
	var misplaced []string
	a.flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "set", "json", "html", "records":
		default:
			if cmd.LocalNonPersistentFlags().Lookup(f.Name) != nil {
				misplaced = append(misplaced, "--"+f.Name)
			}
		}
	})
	if len(misplaced) > 0 {
		return usageError{
			fmt.Errorf("%s: with a configuration, assess.keys and assess.intruder say what the intruder knows and does",
				strings.Join(misplaced, ", "))}
	}
	p, err := s.loadToMeasure(path)
	if err != nil {
		return err
	}
	inputs := []string{path}
	if source, ok := p.Source.Config.(interface{ Paths() []string }); ok {
		inputs = append(inputs, source.Paths()...)
	}
	if err := a.spare(inputs); err != nil {
		return usageError{err}
	}
	watch := &pipeline.Progress{}
	stop, err := s.watch(watch)
	if err != nil {
		return err
	}
	result, data,
		err := attackjob.Run(cmd.Context(), p, pipeline.Options{Version: version(), Log: s.logger(), Progress: watch})
	stop()
	if err != nil {
		return err
	}
	if a.records != "" && data.Records > 0 {
		return usageError{errors.New("--records needs all records, and the attack was on a sample: --set assess.sample=all")}
	}
	show := &report.Attack{Result: result, Name: p.Name}
	if result.Apart {
		show.Warnings = append(show.Warnings, pipeline.RecordsApart)
	}
	if result.Alone != "" {
		show.Warnings = append(show.Warnings, result.Alone)
	}
	show.Warnings = append(show.Warnings, result.ToldWords()...)
	return a.print(show, data)
}

func (s *state) attackForeign(cmd *cobra.Command, a *attackFlags) error {
	if err := a.resolve(); err != nil {
		return usageError{err}
	}
	watch := &pipeline.Progress{}
	stop, err := s.watch(watch)
	if err != nil {
		return err
	}
	found, err := a.foreign.Run(cmd.Context(), watch)
	stop()
	if err != nil {
		return err
	}
	show := &report.Attack{Result: found.Result, Name: "attack", Foreign: true}
	for _, left := range []struct {
		records int
		words   string
	}{
		{found.Unmatched, "original records have no released record and are left out"},
		{found.Unowned, "released records have no original record and are left out"},
		{found.Malformed, "records could not be read and count as records without values"},
	} {
		if left.records > 0 {
			show.Warnings = append(show.Warnings, fmt.Sprintf("%d %s", left.records, left.words))
		}
	}
	if found.Result.Referee != nil {
		show.Warnings = append(show.Warnings, found.Result.Referee.Warnings...)
	}
	for _, w := range show.Warnings {
		fmt.Fprintln(os.Stderr, "sdlfilter:", w)
	}
	return a.print(show, found.Data)
}

// print writes the result for a person or as JSON, its page, and the records' file.
func (a *attackFlags) print(show *report.Attack, d attack.Data) error {
	if a.records != "" {
		var text bytes.Buffer
		if err := attack.WriteRecords(&text, show.Result, d); err != nil {
			return fmt.Errorf("--records: %w", err)
		}
		if err := publish.WriteFile(a.records, publish.Confidential, text.Bytes()); err != nil {
			return err
		}
	}
	show.Version, show.Finished = version(), time.Now()
	if a.out.html != "" {
		for _, c := range d.Numeric {
			show.Pictures = append(show.Pictures, picture.Of(c.Name, "", c.Original, c.Released))
		}
	}
	return a.out.write(show, func() { show.Summary(os.Stdout, colored(os.Stdout), width(os.Stdout)) })
}

// resolve turns the flags into an attack.
func (a *attackFlags) resolve() error {
	if a.original == "" {
		return errors.New("--original is needed, or a configuration; see `sdlfilter attack --help`")
	}
	for _, step := range []func() error{a.sources, a.refereed, a.validate, a.checkValues, a.spareInputs, a.linkage,
		a.uniqueness} {
		if err := step(); err != nil {
			return err
		}
	}
	if a.knowledge == "" {
		return a.refuse("is about the Bayesian intruder, who is asked for by --knowledge d1 or d2", "phi", "sigma",
			"phi-prior", "sigma-prior", "threshold", "population")
	}
	var err error
	a.foreign.Options.Bayes, err = a.bayes()
	return err
}

// sources are the files, by the formats that their names and flags say.
func (a *attackFlags) sources() (err error) {
	f := &a.foreign
	if f.Missing, err = a.missing.declared(); err != nil {
		return err
	}
	if f.Original, err = a.format.source(a.original); err != nil {
		return err
	}
	if a.released != "" {
		if f.Released, err = a.format.source(a.released); err != nil {
			return err
		}
	}
	for _, path := range a.earlier {
		source, err := a.format.source(path)
		if err != nil {
			return err
		}
		f.Earlier = append(f.Earlier, source)
	}
	return nil
}

// validate returns an error if the flags ask for nothing, or for an attack whose files or
// keys are missing.
func (a *attackFlags) validate() error {
	f := &a.foreign
	switch {
	case a.released == "" && (f.Referee != nil || len(f.Models) > 0):
		return errors.New("--control, --referee and --models need --released")
	case a.released == "" && len(f.Categorical) == 0:
		return errors.New("--released is needed for linkage, or --categorical for the uniqueness of one file")
	case a.released == "" && (len(f.Keys) > 0 || len(f.Earlier) > 0):
		return errors.New("--keys and --earlier need --released")
	case len(f.Keys) == 0 && len(f.Categorical) == 0 && f.Referee == nil && len(f.Models) == 0:
		return errors.New("--keys or --categorical must say what the intruder knows")
	case f.Unmatched && (a.records != "" || a.knowledge != "" || len(f.Earlier) > 0 || f.ID != ""):
		return errors.New(
			"--records, --knowledge, --earlier and --id need released records that correspond to original ones, and --unmatched says that they do not")
	case len(f.Keys) == 0 && len(f.Categorical) == 0 && a.records != "":
		return errors.New("--records has a row for each record that is sought, and needs --keys or --categorical")
	case len(f.Keys) == 0 && (a.knowledge != "" || len(f.Earlier) > 0):
		return errors.New("--knowledge and --earlier need numeric --keys")
	}
	return nil
}

// spareInputs refuses outputs in the place of what is read.
func (a *attackFlags) spareInputs() error {
	return a.spare(append([]string{a.original, a.released, a.referee.control}, a.earlier...))
}

func (a *attackFlags) spare(inputs []string) error {
	return cmp.Or(a.out.spare(inputs...), spare("--records", a.records, inputs))
}

// linkage asks for what is about numeric keys, and for linkage by Gower's distance,
// which compares categorical keys, with numeric ones or alone.
func (a *attackFlags) linkage() error {
	f, o := &a.foreign, &a.foreign.Options
	o.Targets = a.targets
	link := &attack.Linkage{OneToOne: a.oneToOne}
	if err := link.Distance.UnmarshalText([]byte(a.distance)); err != nil {
		return fmt.Errorf("--%w", err)
	}
	if len(f.Keys) > 0 || f.Released != nil && link.Distance == linkage.Gower {
		o.Linkage = link
	} else if err := a.refuse(
		"is about linkage, which needs --released and numeric --keys, or categorical ones with --distance gower", "distance",
		"one-to-one", "targets"); err != nil {
		return err
	}
	if len(f.Keys) == 0 {
		return a.refuse("is about numeric columns, and needs --keys", "interval")
	}
	o.Intervals, o.Loss = a.intervals, &loss.Options{Propensity: &loss.PropensityOptions{}}
	o.Averaging = len(f.Earlier) > 0
	return nil
}

// uniqueness asks for what is about categorical keys.
func (a *attackFlags) uniqueness() error {
	if len(a.foreign.Categorical) == 0 {
		return a.refuse("is about combinations of categories, and needs --categorical", "sensitive", "weight", "household",
			"person", "alpha", "estimator", "count")
	}
	u := uniqueness.DefaultOptions()
	u.Alpha = a.alpha
	switch a.estimator {
	case uniqueness.Approximate.String():
		u.Estimator = uniqueness.Approximate
	case uniqueness.Exact.String():
		u.Estimator = uniqueness.Exact
	default:
		return fmt.Errorf("--estimator must be approx or exact, got %q", a.estimator)
	}
	switch a.count {
	case uniqueness.CountSnooper:
	case uniqueness.CountReleased:
		a.foreign.CountReleased = true
	default:
		return fmt.Errorf("--count must be snooper or released, got %q", a.count)
	}
	a.foreign.Options.Uniqueness = &u
	return nil
}

// refuse returns an error where a flag is given that would have no effect.
func (a *attackFlags) refuse(why string, names ...string) error {
	for _, name := range names {
		if a.flags.Changed(name) {
			return fmt.Errorf("--%s %s", name, why)
		}
	}
	return nil
}

// checkValues says which flag has a value that cannot be, before the files are read.
func (a *attackFlags) checkValues() error {
	for _, list := range []struct {
		flag  string
		names []string
	}{{"keys", a.foreign.Keys}, {"categorical", a.foreign.Categorical}, {"sensitive", a.foreign.Sensitive},
		{"person", a.foreign.Person}} {
		if err := distinct(list.flag, list.names); err != nil {
			return err
		}
	}
	for _, width := range a.intervals {
		if !(width >= 0) || math.IsInf(width, 1) {
			return fmt.Errorf("--interval must be at least 0 and finite, got %v", width)
		}
	}
	switch {
	case a.targets < 0:
		return fmt.Errorf("--targets must be at least 1, or 0 for all, got %d", a.targets)
	case !(a.threshold >= 0 && a.threshold <= 1):
		return fmt.Errorf("--threshold must be from 0 to 1, got %v", a.threshold)
	case a.population < 0:
		return fmt.Errorf("--population must be at least 1, or 0 for the released records, got %d", a.population)
	case !(a.alpha >= 0 && a.alpha <= 1):
		return fmt.Errorf("--alpha must be from 0 to 1, got %v", a.alpha)
	}
	return nil
}

// bayes reads what the Bayesian intruder knows.
func (a *attackFlags) bayes() (*intruder.Options, error) {
	keys := a.foreign.Keys
	o := &intruder.Options{Keys: make([]intruder.Key, len(keys)), Threshold: a.threshold, Population: a.population}
	switch a.knowledge {
	case "d1", "d.1":
		if a.phi == "" && a.sigma == "" {
			return nil, errors.New("--knowledge d1 needs --phi, --sigma or both")
		}
		if err := a.refuse("is about --knowledge d2", "phi-prior", "sigma-prior"); err != nil {
			return nil, err
		}
		for _, p := range []struct {
			flag, text string
			to         func(k *intruder.Key) *float64
		}{
			{"--phi", a.phi, func(k *intruder.Key) *float64 { return &k.Phi }},
			{"--sigma", a.sigma, func(k *intruder.Key) *float64 { return &k.Sigma }},
		} {
			values, err := byKey(p.text, keys)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.flag, err)
			}
			for i, v := range values {
				if !(v >= 0) || math.IsInf(v, 1) {
					return nil, fmt.Errorf("%s must be at least 0 and finite, got %v", p.flag, v)
				}
				*p.to(&o.Keys[i]) = v
			}
		}
	case "d2", "d.2":
		if err := a.refuse("is about --knowledge d1", "phi", "sigma"); err != nil {
			return nil, err
		}
		phi, err := prior(a.phiPrior)
		if err != nil {
			return nil, fmt.Errorf("--phi-prior: %w", err)
		}
		sigma, err := prior(a.sigmaPrior)
		if err != nil {
			return nil, fmt.Errorf("--sigma-prior: %w", err)
		}
		if phi == nil && sigma == nil {
			return nil, errors.New("--knowledge d2 needs --phi-prior, --sigma-prior or both: shape,scale")
		}
		for i := range o.Keys {
			o.Keys[i].PhiPrior, o.Keys[i].SigmaPrior = phi, sigma
		}
	default:
		return nil, fmt.Errorf("--knowledge must be d1 or d2, got %q", a.knowledge)
	}
	return o, nil
}

// byKey reads a number for all keys, or key=number,…
func byKey(text string, keys []string) ([]float64, error) {
	values := make([]float64, len(keys))
	if text == "" {
		return values, nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		for i := range values {
			values[i] = v
		}
		return values, nil
	}
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, number, ok := strings.Cut(part, "=")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		name = strings.TrimSpace(name)
		if !ok || err != nil {
			return nil, errors.New("must be a number for all keys, or key=number,…")
		}
		at := -1
		for i, key := range keys {
			if key == name {
				at = i
			}
		}
		switch {
		case at < 0:
			return nil, fmt.Errorf("%q is not among --keys", name)
		case given[name]:
			return nil, fmt.Errorf("%q is given twice", name)
		}
		given[name], values[at] = true, v
	}
	for _, key := range keys {
		if !given[key] {
			return nil, fmt.Errorf("there is no number for %q", key)
		}
	}
	return values, nil
}

// prior reads shape,scale; "" means no prior.
func prior(text string) (*intruder.Prior, error) {
	if text == "" {
		return nil, nil
	}
	shape, scale, ok := strings.Cut(text, ",")
	a, err1 := strconv.ParseFloat(strings.TrimSpace(shape), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(scale), 64)
	if !ok || err1 != nil || err2 != nil || !(a > 0 && b > 0) || math.IsInf(a, 1) || math.IsInf(b, 1) {
		return nil, errors.New("must be shape,scale, both above 0 and finite")
	}
	return &intruder.Prior{Shape: a, Scale: b}, nil
}
