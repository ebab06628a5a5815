package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

var (
	everything = values{"engine": "on", "evict": true, "csi": true, "workloads": presetKinds, "dashboard": values{"enabled": true}, "networkPolicy": values{"enabled": true}}
	// What is not named after the release: the chart, its files, the image, and the probe, whose name the controller has.
	fixedName = regexp.MustCompile(`# Source: |helm\.sh/chart: |image: "` + name + `:|\b` + name + `-probe['\]]|^  ` + name + `\.json: `)
)

// A second release in a cluster has no object of the first one, its selectors, or its lease.
func TestAReleaseCanHaveOtherNames(t *testing.T) {
	t.Parallel()
	v := maps.Clone(everything)
	v["nameOverride"] = "other"
	rendered, err := template(t, v)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rendered)) {
		if strings.Contains(line, name) && !fixedName.MatchString(line) {
			t.Errorf("a release with another name has the line %s", line)
		}
	}
	all := decode(t, rendered)
	want := slices.Sorted(func(yield func(string) bool) {
		for id := range render(t, everything) {
			kind, rest, _ := strings.Cut(id, "/")
			if !yield(kind + "/" + strings.Replace(rest, name, "other", 1)) {
				return
			}
		}
	})
	if diff := cmp.Diff(want, all.names()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	requireNames(t, all, "other", "other")
}

func TestTheLabelsStayIfOnlyTheNamesAreOthers(t *testing.T) {
	t.Parallel()
	requireNames(t, render(t, values{"fullnameOverride": "full"}), "full", name)
	requireNames(t, render(t, values{"fullnameOverride": "full", "nameOverride": "other"}), "full", "other")
}

// requireNames requires that the replicas have a label and their selectors select it, and that they use the objects that
// are there and that they may use.
func requireNames(t *testing.T, all objects, full, label string) {
	t.Helper()
	deployment := as[appsv1.Deployment](t, all, "Deployment "+namespace+"/"+full)
	spec, c := deployment.Spec.Template.Spec, deployment.Spec.Template.Spec.Containers[0]
	labels := map[string]string{"app.kubernetes.io/name": label}
	lease := as[rbacv1.Role](t, all, "Role "+namespace+"/"+full+"-leader-election").Rules[1]
	for what, isSo := range map[string]bool{
		"account":     spec.ServiceAccountName == full && all["ServiceAccount "+namespace+"/"+full] != nil,
		"key":         c.Env[0].Value == full+"-checksum-key" && all["Secret "+namespace+"/"+full+"-checksum-key"] != nil,
		"halts":       c.Env[1].Value == full+"-halts" && all["ConfigMap "+namespace+"/"+full+"-halts"] != nil,
		"lease":       slices.Contains(c.Args, "--leader-elect-lease-name="+full) && slices.Equal(lease.ResourceNames, []string{full}),
		"pods":        cmp.Equal(deployment.Spec.Template.Labels, labels),
		"selector":    cmp.Equal(deployment.Spec.Selector.MatchLabels, labels),
		"spread":      cmp.Equal(spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels, labels),
		"Service":     cmp.Equal(as[corev1.Service](t, all, "Service "+namespace+"/"+full+"-metrics").Spec.Selector, labels),
		"own label":   deployment.Labels["app.kubernetes.io/name"] == label,
		"the account": all["ServiceAccount "+namespace+"/"+full].GetLabels()["app.kubernetes.io/name"] == label,
	} {
		if !isSo {
			t.Errorf("%s: the Deployment is %+v", what, deployment)
		}
	}
	requireAccepted(t, c.Args)
}

func TestNamesThatCannotBeAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Upper", "1st", "a.b", "end-", strings.Repeat("a", 51)} {
		for _, value := range []string{"nameOverride", "fullnameOverride"} {
			if _, err := template(t, values{value: text}); err == nil || !strings.Contains(err.Error(), "/"+value) {
				t.Errorf("%s %s: %v", value, text, err)
			}
		}
	}
}

func TestTheAccountHasItsAnnotationsAndThoseOfAllObjects(t *testing.T) {
	t.Parallel()
	all := render(t, values{"annotations": values{"a": "all", "b": "all"}, "serviceAccount": values{"annotations": values{"b": "own"}}})
	if got := all["ServiceAccount "+namespace+"/"+name].GetAnnotations(); !maps.Equal(got, map[string]string{"a": "all", "b": "own"}) {
		t.Errorf("the account has the annotations %v", got)
	}
	if got := all[deploymentID].GetAnnotations(); got["b"] != "all" {
		t.Errorf("the Deployment has the annotations %v", got)
	}
}

// One's own constraint keeps its selector.
func TestAConstraintIsAboutTheReplicasUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	constraint := values{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
	other := maps.Clone(constraint)
	other["labelSelector"] = values{"matchLabels": values{"a": "b"}}
	spread := podSpec(t, render(t, values{"topologySpreadConstraints": []values{constraint, other}})).TopologySpreadConstraints
	if len(spread) != 2 || spread[0].MaxSkew != 2 || spread[0].LabelSelector.MatchLabels["app.kubernetes.io/name"] != name ||
		!cmp.Equal(spread[1].LabelSelector.MatchLabels, map[string]string{"a": "b"}) {
		t.Errorf("the constraints are %+v", spread)
	}
}
