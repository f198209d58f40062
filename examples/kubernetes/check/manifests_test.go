// Package check decodes the Kubernetes examples strictly into the API's own types. It is a separate
// module, because the filter does not depend on these types.
package check

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// Every manifest has a known kind and no misspelt field, and a document with one wrong field is
// refused.
func TestManifests(t *testing.T) {
	paths, err := filepath.Glob("../*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, path := range paths {
		if filepath.Base(path) == "pipeline.yaml" || filepath.Base(filepath.Dir(path)) == "chart" {
			continue // scripts/test-examples.sh validates it; TestChart renders the chart
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var kind struct {
				Kind string `json:"kind"`
			}
			if err := yaml.Unmarshal(document, &kind); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			seen[kind.Kind]++
			if err := decode(kind.Kind, document); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if decode(kind.Kind, append(bytes.TrimRight(document, "\n"), "\nmisspelt: 1\n"...)) == nil {
				t.Errorf("%s: a field that does not exist is taken", path)
			}
		}
	}
	for _, kind := range []string{"CronJob", "Job", "Deployment", "NetworkPolicy", "Kustomization"} {
		if seen[kind] == 0 {
			t.Errorf("no %s among %d manifests", kind, len(paths))
		}
	}
}

func decode(kind string, document []byte) error {
	var into any
	switch kind {
	case "CronJob":
		into = new(batchv1.CronJob)
	case "Job":
		into = new(batchv1.Job)
	case "Deployment":
		into = new(appsv1.Deployment)
	case "ConfigMap":
		into = new(corev1.ConfigMap)
	case "NetworkPolicy":
		into = new(networkingv1.NetworkPolicy)
	case "Kustomization":
		into = new(kustomize.Kustomization)
	default:
		return os.ErrInvalid
	}
	return yaml.UnmarshalStrict(document, into)
}
