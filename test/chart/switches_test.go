package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	deploymentID  = "Deployment " + namespace + "/" + name
	clusterRoleID = "ClusterRole /" + name
)

func podSpec(t *testing.T, all objects) *corev1.PodSpec {
	t.Helper()
	return &as[appsv1.Deployment](t, all, deploymentID).Spec.Template.Spec
}

func container(t *testing.T, all objects) *corev1.Container {
	t.Helper()
	return &podSpec(t, all).Containers[0]
}

// may reports whether a role grants the verb for a resource.
func may(rules []rbacv1.PolicyRule, verb, resource string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.Resources, resource)
	})
}

func TestASwitchAddsAndRemovesObjects(t *testing.T) {
	t.Parallel()
	normal := render(t, nil)
	for _, test := range []struct {
		name          string
		values        values
		added, absent []string
	}{
		{"no policy", values{"admissionPolicy": values{"enabled": false}}, nil, []string{
			"ValidatingAdmissionPolicy /" + name + "-engine", "ValidatingAdmissionPolicy /" + name + "-workloads",
			"ValidatingAdmissionPolicyBinding /" + name + "-engine", "ValidatingAdmissionPolicyBinding /" + name + "-workloads",
		}},
		{"no budget", values{"podDisruptionBudget": values{"enabled": false}}, nil, []string{"PodDisruptionBudget " + namespace + "/" + name}},
		{"no Service", values{"metricsService": values{"enabled": false}}, nil, []string{"Service " + namespace + "/" + name + "-metrics"}},
		{"ConfigMaps only", values{"configs": "configmaps"}, nil, []string{
			"Secret " + namespace + "/" + name + "-checksum-key",
			"Role " + namespace + "/" + name + "-checksum-key", "RoleBinding " + namespace + "/" + name + "-checksum-key",
		}},
		{"enabled by namespace", values{"optIn": values{"byNamespace": true}}, []string{"ClusterRole /" + name + "-namespaces", "ClusterRoleBinding /" + name + "-namespaces"}, nil},
		{"selected namespaces", values{"optIn": values{"namespaceSelector": "a=b"}}, []string{"ClusterRole /" + name + "-namespaces", "ClusterRoleBinding /" + name + "-namespaces"}, nil},
		{"ignored namespaces", values{"optIn": values{"ignoredNamespaces": []string{"a"}}}, nil, nil},
		{"other kinds", values{"workloads": []string{"gadgets.v1.example.com"}}, []string{"ClusterRole /" + name + "-workloads", "ClusterRoleBinding /" + name + "-workloads"}, nil},
		{"other kinds in a namespace", values{"namespaces": []string{"team-a"}, "workloads": []string{"gadgets.v1.example.com"}}, []string{
			"Role team-a/" + name, "RoleBinding team-a/" + name, "Role team-a/" + name + "-workloads", "RoleBinding team-a/" + name + "-workloads",
		}, []string{"ClusterRole /" + name, "ClusterRoleBinding /" + name}},
		{"a template elsewhere", values{"workloads": []string{"gadgets.v1.example.com=.spec.job.template"}}, []string{
			"ClusterRole /" + name + "-workloads", "ClusterRoleBinding /" + name + "-workloads",
			"ValidatingAdmissionPolicy /" + name + "-workloads-gadgets.example.com", "ValidatingAdmissionPolicyBinding /" + name + "-workloads-gadgets.example.com",
		}, nil},
		{"engine", values{"engine": "standby"}, []string{
			"ClusterRole /" + name + "-deployment-engine", "ClusterRoleBinding /" + name + "-deployment-engine",
			"Role " + namespace + "/" + name + "-probe", "RoleBinding " + namespace + "/" + name + "-probe",
		}, nil},
		{"CSI volumes", values{"csi": true}, []string{"ClusterRole /" + name + "-csi", "ClusterRoleBinding /" + name + "-csi"}, nil},
		{"CSI volumes in a namespace", values{"namespaces": []string{"team-a"}, "csi": true}, []string{
			"Role team-a/" + name, "RoleBinding team-a/" + name, "Role team-a/" + name + "-csi", "RoleBinding team-a/" + name + "-csi",
		}, []string{"ClusterRole /" + name, "ClusterRoleBinding /" + name}},
		{"CSI volumes and ConfigMaps only", values{"configs": "configmaps", "csi": true}, []string{"ClusterRole /" + name + "-csi", "ClusterRoleBinding /" + name + "-csi"}, nil},
		{"evictions", values{"evict": true}, []string{
			"ClusterRole /" + name + "-evict", "ClusterRoleBinding /" + name + "-evict",
			"ValidatingAdmissionPolicy /" + name + "-evict", "ValidatingAdmissionPolicyBinding /" + name + "-evict",
		}, nil},
		{"evictions in a dry run", values{"evict": true, "dryRun": true}, nil, nil},
		{"network policy", values{"networkPolicy": values{"enabled": true}}, []string{"NetworkPolicy " + namespace + "/" + name}, nil},
		{"dashboard", values{"dashboard": values{"enabled": true}}, []string{"ConfigMap " + namespace + "/" + name + "-dashboard"}, nil},
		{"rules", values{"monitors": values{"prometheusRule": values{"enabled": true}}}, []string{"PrometheusRule " + namespace + "/" + name}, nil},
		{"ServiceMonitor", values{"monitors": values{"serviceMonitor": values{"enabled": true}}}, []string{"ServiceMonitor " + namespace + "/" + name}, nil},
		{"PodMonitor", values{"monitors": values{"podMonitor": values{"enabled": true}}}, []string{"PodMonitor " + namespace + "/" + name}, nil},
		{"two namespaces", values{"namespaces": []string{"team-a", "team-b"}}, []string{
			"Role team-a/" + name, "RoleBinding team-a/" + name, "Role team-b/" + name, "RoleBinding team-b/" + name,
		}, []string{"ClusterRole /" + name, "ClusterRoleBinding /" + name}},
		{"everything in a namespace", values{"namespaces": []string{"team-a"}, "engine": "on"}, []string{
			"Role team-a/" + name, "RoleBinding team-a/" + name,
			"Role team-a/" + name + "-deployment-engine", "RoleBinding team-a/" + name + "-deployment-engine",
			"Role " + namespace + "/" + name + "-probe", "RoleBinding " + namespace + "/" + name + "-probe",
		}, []string{"ClusterRole /" + name, "ClusterRoleBinding /" + name}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := slices.DeleteFunc(normal.names(), func(id string) bool { return slices.Contains(test.absent, id) })
			want = append(want, test.added...)
			slices.Sort(want)
			if len(want) != len(normal)+len(test.added)-len(test.absent) {
				t.Errorf("not all of %q are there by default", test.absent)
			}
			if diff := cmp.Diff(want, render(t, test.values).names()); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAValueBecomesAnArgument(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values values
		want   string // further arguments, without those by default
	}{
		{nil, ""},
		{values{"engine": "on"}, "--deployment-engine=on"},
		{values{"engine": true}, "--deployment-engine=on"},
		{values{"engine": "standby"}, "--deployment-engine=standby"},
		{values{"engine": false}, ""},
		{values{"fanOut": values{"limit": 1_000_000, "failures": 0}}, "--fan-out-limit=1000000 --fan-out-failures=0"},
		{values{"fanOut": values{"failures": 3}}, "--fan-out-failures=3"},
		{values{"fanOut": values{"groups": []string{"configmap/*/ca-bundle", "configmap/*/b"}}}, "--fan-out-group=configmap/*/ca-bundle --fan-out-group=configmap/*/b"},
		{values{"restartWindow": "0 22 * * 1-5 6h"}, "--restart-window=0 22 * * 1-5 6h"},
		{values{"configs": "secrets"}, "--configs=secrets"},
		{values{"optIn": values{"byNamespace": true}}, "--namespace-annotations"},
		{values{"optIn": values{"byNamespace": true, "byDefault": true}}, "--enable-by-default"},
		{values{"optIn": values{"namespaceSelector": "tier=web"}}, "--namespace-selector=tier=web"},
		{values{"optIn": values{"ignoredNamespaces": []string{"preview-*", "b"}}}, "--ignore-namespace=preview-* --ignore-namespace=b"},
		{values{"optIn": values{"understand": []string{"reloader", "wave"}}}, "--understand=reloader --understand=wave"},
		{values{"workloads": []string{"rollouts.v1alpha1.argoproj.io", "gadgets.v1.example.com=.spec.job.template"}}, "--workload=rollouts.v1alpha1.argoproj.io --workload=gadgets.v1.example.com=.spec.job.template"},
		{values{"csi": true}, "--csi"},
		{values{"evict": true}, "--evict"},
		{values{"logFormat": "json"}, "--log-format=json"},
		{values{"statusAddress": "[::1]:8080"}, "--status-address=[::1]:8080"},
		{values{"statusAddress": ""}, ""},
		{values{"dryRun": true}, "--dry-run"},
		{values{"namespaces": []string{"team-a", "team-b"}}, "--namespace=team-a --namespace=team-b"},
		{values{"extraFlags": []string{"--restart-grace-period=10", "-v=1"}}, "--restart-grace-period=10 -v=1"},
		{values{"extraFlags": []string{"--listen-address=[::]:10254"}}, "--listen-address=[::]:10254"}, // only IPv6
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			args := container(t, render(t, test.values)).Args
			requireAccepted(t, args)
			_, setsAddress := test.values["statusAddress"]
			for _, preset := range []string{"--leader-elect", "--fan-out=gradual", "--status-address=127.0.0.1:10255"} {
				rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == preset })
				if len(rest) == len(args) && !(setsAddress && strings.HasPrefix(preset, "--status-address")) {
					t.Errorf("%s is not among the arguments %q", preset, args)
				}
				args = rest
			}
			if got := strings.Join(args, " "); got != test.want {
				t.Errorf("arguments: %q, want %q", got, test.want)
			}
		})
	}
	args := container(t, render(t, values{"fanOut": values{"mode": "all-at-once"}})).Args
	if !slices.Contains(args, "--fan-out=all-at-once") {
		t.Errorf("arguments: %q", args)
	}
}

func TestTheImageIsNamedByTagAndDigest(t *testing.T) {
	t.Parallel()
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	version := strings.TrimPrefix(container(t, render(t, nil)).Image, name+":")
	for _, test := range []struct {
		image values
		want  string
	}{
		{values{"repository": "r.example/c"}, "r.example/c:" + version},
		{values{"repository": "r.example/c", "tag": "7"}, "r.example/c:7"},
		{values{"repository": "r.example/c", "digest": digest}, "r.example/c@" + digest},
		{values{"repository": "r.example/c", "tag": "7", "digest": digest}, "r.example/c:7@" + digest},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			all := render(t, values{"image": test.image})
			pod := as[corev1.Pod](t, all, "Pod "+namespace+"/"+name+"-version")
			if got := container(t, all).Image; got != test.want || pod.Spec.Containers[0].Image != test.want {
				t.Errorf("the image is %s, that of the test is %s", got, pod.Spec.Containers[0].Image)
			}
		})
	}
}

func TestAValueBecomesAPartOfThePods(t *testing.T) {
	t.Parallel()
	all := render(t, values{
		"replicas":                  3,
		"priorityClassName":         "system-cluster-critical",
		"image":                     values{"pullPolicy": "Always", "pullSecrets": []string{"registry"}},
		"nodeSelector":              values{"disk": "fast"},
		"tolerations":               []values{{"key": "infra", "operator": "Exists", "effect": "NoSchedule"}},
		"topologySpreadConstraints": []values{},
		"affinity":                  values{"podAntiAffinity": values{"preferredDuringSchedulingIgnoredDuringExecution": []values{}}},
		"resources":                 values{"limits": values{"memory": "1Gi"}},
		"extraEnv":                  []values{{"name": "GOGC", "value": "80"}},
		"podLabels":                 values{"team": "platform"},
		"podAnnotations":            values{"note": "pod"},
		"labels":                    values{"cost-center": "7"},
		"annotations":               values{"note": "object"},
	})
	deployment := as[appsv1.Deployment](t, all, deploymentID)
	template := &deployment.Spec.Template
	spec, c := &template.Spec, &template.Spec.Containers[0]
	for what, isSo := range map[string]bool{
		"replicas":     *deployment.Spec.Replicas == 3,
		"priority":     spec.PriorityClassName == "system-cluster-critical",
		"pull policy":  c.ImagePullPolicy == corev1.PullAlways,
		"pull secrets": len(spec.ImagePullSecrets) == 1 && spec.ImagePullSecrets[0].Name == "registry",
		// Helm merges maps, so that the chart's own selector stays.
		"nodes":           cmp.Equal(spec.NodeSelector, map[string]string{"disk": "fast", "kubernetes.io/os": "linux"}),
		"tolerations":     len(spec.Tolerations) == 1 && spec.Tolerations[0].Key == "infra",
		"spread":          len(spec.TopologySpreadConstraints) == 0,
		"affinity":        spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil,
		"memory":          c.Resources.Limits.Memory().String() == "1Gi" && c.Resources.Requests.Cpu().String() == "50m",
		"environment":     c.Env[len(c.Env)-1] == corev1.EnvVar{Name: "GOGC", Value: "80"},
		"pod labels":      cmp.Equal(template.Labels, map[string]string{"app.kubernetes.io/name": name, "team": "platform"}),
		"selector":        cmp.Equal(deployment.Spec.Selector.MatchLabels, map[string]string{"app.kubernetes.io/name": name}),
		"pod annotations": cmp.Equal(template.Annotations, map[string]string{"note": "pod"}),
	} {
		if !isSo {
			t.Errorf("%s: the Deployment is %+v", what, deployment)
		}
	}
	for id, object := range all {
		if object.GetLabels()["cost-center"] != "7" || object.GetAnnotations()["note"] != "object" {
			t.Errorf("%s has the labels %v and the annotations %v", id, object.GetLabels(), object.GetAnnotations())
		}
	}
}

func TestTheControllerMayDoOnlyWhatItsValuesNeed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		values     values
		secrets    bool
		configMaps bool
		patch      bool
	}{
		{"by default", nil, true, true, true},
		{"ConfigMaps only", values{"configs": "configmaps"}, false, true, true},
		{"Secrets only", values{"configs": "secrets"}, true, false, true},
		{"dry run", values{"dryRun": true}, true, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := render(t, test.values)
			rules := as[rbacv1.ClusterRole](t, all, clusterRoleID).Rules
			halts := as[rbacv1.Role](t, all, "Role "+namespace+"/"+name+"-halts").Rules
			if may(rules, "list", "secrets") != test.secrets || may(rules, "list", "configmaps") != test.configMaps ||
				may(rules, "patch", "deployments") != test.patch || may(halts, "update", "configmaps") != test.patch {
				t.Errorf("rules: %+v, of the halts: %+v", rules, halts)
			}
		})
	}
}

func TestADryRunMayOnlyReadOtherKindsOfWorkloads(t *testing.T) {
	t.Parallel()
	for _, isDry := range []bool{false, true} {
		all := render(t, values{"workloads": []string{"gadgets.v1.example.com"}, "dryRun": isDry})
		rules := as[rbacv1.ClusterRole](t, all, clusterRoleID+"-workloads").Rules
		if !may(rules, "list", "gadgets") || may(rules, "patch", "gadgets") == isDry {
			t.Errorf("dry run: %t, rules: %+v", isDry, rules)
		}
	}
}

// An upgrade must not empty what the controller keeps, and an uninstall must not remove it.
func TestTheKeyAndTheHaltsAreKeptAndHaveNoData(t *testing.T) {
	t.Parallel()
	all := render(t, nil)
	for _, id := range []string{"Secret " + namespace + "/" + name + "-checksum-key", "ConfigMap " + namespace + "/" + name + "-halts"} {
		object, isThere := all[id]
		if !isThere {
			t.Fatalf("there is no %s", id)
		}
		for _, member := range []string{"data", "stringData", "binaryData"} {
			if _, has := object.Object[member]; has {
				t.Errorf("%s has %s", id, member)
			}
		}
		if policy := object.GetAnnotations()["helm.sh/resource-policy"]; policy != "keep" {
			t.Errorf("the resource policy of %s is %q", id, policy)
		}
	}
}

func TestThePolicyIsAboutTheNamespaceOfTheRelease(t *testing.T) {
	t.Parallel()
	rendered, err := template(t, nil, "--namespace=elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(rendered); !strings.Contains(text, "'system:serviceaccounts:elsewhere'") || strings.Contains(text, namespace+"'") ||
		strings.Contains(text, "namespace: "+namespace) {
		t.Errorf("rendered for another namespace:\n%s", text)
	}
}

// YAML reads such a name as a number if it has no quotes.
func TestANamespaceCanBeNamedByANumber(t *testing.T) {
	t.Parallel()
	rendered, err := template(t, values{"namespaces": []string{"2024"}, "engine": "on"}, "--namespace=123")
	if err != nil {
		t.Fatal(err)
	}
	all := decode(t, rendered)
	for _, id := range []string{"Role 2024/" + name, "RoleBinding 2024/" + name, "Deployment 123/" + name} {
		if _, isThere := all[id]; !isThere {
			t.Errorf("there is no %s among %q", id, all.names())
		}
	}
}

// Whoever may install the chart into a namespace need not be allowed to read the namespace itself.
func TestTheChartReadsNothingFromTheCluster(t *testing.T) {
	t.Parallel()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(chart, "templates"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), "lookup") {
			t.Errorf("%s calls lookup", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePodOfTheChartsTestIsPulledAndLimitedAsTheReplicasAre(t *testing.T) {
	t.Parallel()
	all := render(t, values{"image": values{"pullPolicy": "Never"}, "resources": values{"limits": values{"memory": "1Gi"}}})
	replica, tested := container(t, all), as[corev1.Pod](t, all, "Pod "+namespace+"/"+name+"-version").Spec.Containers[0]
	if tested.ImagePullPolicy != corev1.PullNever || !cmp.Equal(tested.Resources, replica.Resources) || tested.Resources.Limits.Memory().String() != "1Gi" {
		t.Errorf("the pod of the test has %q and %+v", tested.ImagePullPolicy, tested.Resources)
	}
	if byDefault := as[corev1.Pod](t, render(t, nil), "Pod "+namespace+"/"+name+"-version").Spec.Containers[0]; byDefault.ImagePullPolicy != "" || byDefault.Resources.Requests.Cpu().IsZero() {
		t.Errorf("by default it has %q and %+v", byDefault.ImagePullPolicy, byDefault.Resources)
	}
}

// notes returns what Helm would print after an installation, and the manifests.
func notes(t *testing.T, v values) string {
	t.Helper()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	said, err := harness.Helm(t.Context(), t.TempDir(), "install", release, chart, "--namespace="+namespace, "--dry-run=client", "--values="+fileOf(t, v))
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

func TestTheNotesSayThatNoImageIsPublishedUnlessOneIsNamed(t *testing.T) {
	t.Parallel()
	for repository, isMissing := range map[string]bool{name: true, "registry.example.com/" + name: false} {
		said := notes(t, values{"image": values{"repository": repository}})
		if got := strings.Contains(said, "No image of the controller is published"); got != isMissing {
			t.Errorf("with %s: %s", repository, said)
		}
	}
}

func TestTheNotesSayHowToReachTheStatusPageIfThereIsOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values values
		want   string
	}{
		{nil, "pod/LEADER 10255"},
		{values{"statusAddress": ""}, ""},
		{values{"statusAddress": "[::1]:8080"}, "pod/LEADER 8080"},
		{values{"dryRun": true}, "deployment/" + name + " 10255"}, // which has no lease
	} {
		said := notes(t, test.values)
		_, after, _ := strings.Cut(said, "port-forward ")
		if got, _, _ := strings.Cut(after, "\n"); got != test.want {
			t.Errorf("with %v: %s", test.values, said)
		}
	}
}

// A Service or a budget that selected the pod of `helm test` would take it for a replica.
func TestThePodOfTheChartsTestIsNoReplica(t *testing.T) {
	t.Parallel()
	all := render(t, values{"podLabels": values{"app.kubernetes.io/name": "other"}})
	selector := as[appsv1.Deployment](t, all, deploymentID).Spec.Selector.MatchLabels
	pod := as[corev1.Pod](t, all, "Pod "+namespace+"/"+name+"-version")
	if key := "app.kubernetes.io/name"; pod.Labels[key] == selector[key] {
		t.Errorf("the pod has the label %s, which selects replicas", pod.Labels[key])
	}
	if template := as[appsv1.Deployment](t, all, deploymentID).Spec.Template; !cmp.Equal(template.Labels, selector) {
		t.Errorf("the replicas have the labels %v", template.Labels)
	}
}
