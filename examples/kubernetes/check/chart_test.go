package check

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

func loaded(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load("../chart")
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rendered returns the documents of the chart by kind, each decoded strictly by TestManifests' rule.
func rendered(t *testing.T, values map[string]any) (map[string][]byte, error) {
	t.Helper()
	c := loaded(t)
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "survey", Namespace: "data"}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	documents := map[string][]byte{}
	for path, text := range files {
		for _, document := range strings.Split(text, "\n---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			var kind struct {
				Kind string `json:"kind"`
			}
			if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
				t.Fatalf("%s: %v\n%s", path, err, document)
			}
			if err := decode(kind.Kind, []byte(document)); err != nil {
				t.Errorf("%s: %v\n%s", path, err, document)
			}
			documents[kind.Kind] = []byte(document)
		}
	}
	return documents, nil
}

// manifest decodes a document, or the file of an example.
func manifest[T any](t *testing.T, text []byte, path string) (v T) {
	t.Helper()
	var err error
	if path != "" {
		text, err = os.ReadFile(filepath.Join("..", path))
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &v)
	}
	if err != nil {
		t.Fatal(path, err)
	}
	return v
}

const pipeline = "version: 1\nname: \"quoted\"\nkey: {file: /run/secrets/sdlfilter/release.key}\n"

// samePod compares pods but for names, labels, the volumes' order and what the values say.
func samePod(t *testing.T, got, want corev1.PodSpec) {
	t.Helper()
	named := func(list []corev1.Volume) map[string]corev1.VolumeSource {
		all := map[string]corev1.VolumeSource{}
		for _, v := range list {
			if v.ConfigMap != nil {
				v.ConfigMap.Name = ""
			}
			if v.Secret != nil {
				v.Secret.Items = nil
			}
			all[v.Name] = v.VolumeSource
		}
		return all
	}
	if g, w := named(got.Volumes), named(want.Volumes); !reflect.DeepEqual(g, w) {
		t.Errorf("the volumes are %+v, want %+v", g, w)
	}
	got.Volumes, want.Volumes = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the pod is\n%+v\nwant\n%+v", got, want)
	}
}

// The chart's defaults are the nightly example, with its resources.
func TestChartOfANightlyJob(t *testing.T) {
	documents, err := rendered(t, map[string]any{"pipeline": pipeline, "image": map[string]any{"tag": "1"},
		"resources": map[string]any{"requests": map[string]any{"cpu": "1", "memory": "256Mi"},
			"limits": map[string]any{"memory": "1Gi"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 2 {
		t.Errorf("%d documents, want a ConfigMap and a CronJob", len(documents))
	}
	if m := manifest[corev1.ConfigMap](t, documents["ConfigMap"], ""); m.Data["pipeline.yaml"] != pipeline ||
		m.Name != "survey-sdlfilter" {
		t.Errorf("the configuration is %+v", m)
	}
	got, want := manifest[batchv1.CronJob](t, documents["CronJob"], ""),
		manifest[batchv1.CronJob](t, nil, "nightly/cronjob.yaml")
	pod := &got.Spec.JobTemplate.Spec.Template
	if pod.Labels["app.kubernetes.io/instance"] != "survey" || pod.Spec.Volumes[0].ConfigMap.Name != "survey-sdlfilter" {
		t.Errorf("labels %v, volumes %v", pod.Labels, pod.Spec.Volumes)
	}
	pod.Labels = nil
	samePod(t, pod.Spec, want.Spec.JobTemplate.Spec.Template.Spec)
	pod.Spec, want.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{}, corev1.PodSpec{}
	if !reflect.DeepEqual(got.Spec, want.Spec) {
		t.Errorf("the job is\n%+v\nwant\n%+v", got.Spec, want.Spec)
	}
}

// As a stream the chart is the example of a stream.
func TestChartOfAStream(t *testing.T) {
	documents, err := rendered(t, map[string]any{"kind": "stream", "pipeline": pipeline, "volumes": []any{},
		"env": []any{map[string]any{"name": "KAFKA_BROKER", "value": "kafka-bootstrap:9092"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 3 {
		t.Errorf("%d documents, want a ConfigMap, a Deployment and a NetworkPolicy", len(documents))
	}
	got, want := manifest[appsv1.Deployment](t, documents["Deployment"], ""),
		manifest[appsv1.Deployment](t, nil, "stream/deployment.yaml")
	samePod(t, got.Spec.Template.Spec, want.Spec.Template.Spec)
	checksum := got.Spec.Template.Annotations["checksum/pipeline"]
	delete(got.Spec.Template.Annotations, "checksum/pipeline")
	if len(checksum) != 64 || !maps.Equal(got.Spec.Template.Annotations, want.Spec.Template.Annotations) ||
		!reflect.DeepEqual(got.Spec.Selector, want.Spec.Selector) ||
		!maps.Equal(got.Spec.Template.Labels, want.Spec.Template.Labels) || *got.Spec.Replicas != *want.Spec.Replicas {
		t.Errorf("the deployment is %+v, want %+v", got.Spec, want.Spec)
	}
	policy, wanted := manifest[networkingv1.NetworkPolicy](t, documents["NetworkPolicy"], ""),
		manifest[networkingv1.NetworkPolicy](t, nil, "stream/networkpolicy.yaml")
	if !reflect.DeepEqual(policy.Spec, wanted.Spec) {
		t.Errorf("the policy is %+v, want %+v", policy.Spec, wanted.Spec)
	}
	again, err := rendered(t, map[string]any{"kind": "stream", "pipeline": pipeline + "#"})
	if err != nil {
		t.Fatal(err)
	}
	if other := manifest[appsv1.Deployment](t, again["Deployment"],
		""); other.Spec.Template.Annotations["checksum/pipeline"] == checksum {
		t.Error("members do not start anew with another configuration")
	}
}

// Values that make no release are refused before anything is installed.
func TestChartRefuses(t *testing.T) {
	for what, values := range map[string]map[string]any{
		"pipeline":  {},
		"kind":      {"pipeline": pipeline, "kind": "weekly"},
		"schedul":   {"pipeline": pipeline, "nightly": map[string]any{"schedul": "1 1 1 1 1"}},
		"volumes/0": {"pipeline": pipeline, "volumes": []any{map[string]any{"name": "key", "claim": "c", "path": "/run"}}},
		"key":       {"pipeline": pipeline, "key": map[string]any{"file": "../k"}},
		"replicas":  {"pipeline": pipeline, "stream": map[string]any{"replicas": 0}},
		"keys":      {"pipeline": pipeline, "keys": "x"},
	} {
		if _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
