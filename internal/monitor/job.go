package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Job is how a file job ended, for its metrics.
type Job struct {
	Info    Info
	Started time.Time
	Ended   time.Time
	Status  int            // the command's exit status
	Report  *report.Report // nil where the job failed before it had one
}

var (
	descStatus = desc("exit_status",
		"Exit status of the last run: 0 done, 1 failed, 2 configuration, 3 done with records in quarantine, 4 withheld.")
	descEnded    = desc("last_run_timestamp_seconds", "Unix time of the end of the last run.")
	descDuration = desc("run_duration_seconds", "Time that the last run took.")
	descDone     = desc("records_total", "Records by what became of them.", "result")
)

// WriteJob writes the metrics of a file job for the textfile collector of the node
// exporter, under the names that a stream's have. Like the live page it shows
// nothing from which a respondent's value follows. The file appears whole.
func WriteJob(path string, j Job) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(job{j})
	return prometheus.WriteToTextfile(path, registry)
}

// job collects the metrics of a Job.
type job struct{ Job }

func (job) Describe(chan<- *prometheus.Desc) {}

func (j job) Collect(out chan<- prometheus.Metric) {
	gauge := gauges(out)
	gauge(descInfo, 1, j.Info.Name, j.Info.Version, j.Info.Source, j.Info.Sink)
	gauge(descStarted, seconds(j.Started))
	gauge(descEnded, seconds(j.Ended))
	gauge(descDuration, j.Ended.Sub(j.Started).Seconds())
	gauge(descStatus, float64(j.Status))
	if j.Report == nil {
		return
	}
	for f, n := range j.Report.Records.ByFate() {
		if f == microdata.Released && j.Report.Withheld != "" {
			n = 0
		}
		gauge(descDone, float64(n), string(f))
	}
	if len(j.Report.Gate.Rules) > 0 {
		broken := 0
		for _, rule := range j.Report.Gate.Rules {
			if !rule.Passed {
				broken++
			}
		}
		gauge(descGate, truth(j.Report.Gate.Passed))
		gauge(descBroken, float64(broken))
	}
	viewOf(j.Report, nil).collect(gauge)
}
