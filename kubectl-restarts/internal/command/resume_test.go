package command_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// haltOf are the halts of a controller: one, of the present content of a config or a group.
func haltOf(config string) string {
	content := content.NewConfigMap(&corev1.ConfigMap{Data: map[string]string{"LEVEL": "info"}})
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"halts"},
		"data":{"a-halt":"[{\"id\":\"k3v7x2ab\",\"config\":\"%s\",\"content\":\"%s\",\"failed\":[\"deployment/shop/web\"],\"since\":\"2026-01-20T12:00:00Z\"}]"}}`, config, facts.ContentID(&content))
}

func TestOnlyAHaltOfTheConfigItselfIsResumed(t *testing.T) {
	for name, test := range map[string]struct {
		halts, id string // no halts mean that the caller may not read them
		code      int
		want      string
	}{
		"its halt":     {haltOf("configmap/shop/settings"), "k3v7x2ab", 0, "Workloads that the halt k3v7x2ab held back restart"},
		"no such halt": {haltOf("configmap/shop/settings"), "other", 1, `no halt of configmap/settings has the id "other"; k3v7x2ab: configmap/settings has broken deployment/web`},
		"a group's":    {haltOf("configmap/*/settings"), "k3v7x2ab", 1, "is one of all copies of configmap/settings, and ends by removing its entry configmap._.settings from the ConfigMap of halts"},
		"not known":    {"", "k3v7x2ab", 0, "note: you cannot read the ConfigMap of halts, so nothing shows that configmap/settings has the halt k3v7x2ab. One of all its copies does not end by this"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[settingPath], s.objects[haltsPath] = settings, test.halts
			if test.halts == "" {
				s.denied = haltsPath
			}
			code, stdout, stderr := s.run(t.Context(), "resume", "configmap/settings", test.id)
			if code != test.code || !strings.Contains(stdout+stderr, test.want) || (len(s.writes) == 0) != (code != 0) {
				t.Errorf("%d, %s%s, wrote %v", code, stdout, stderr, s.writes)
			}
			if test.halts == "" && strings.Contains(stdout, "Workloads that the halt") {
				t.Errorf("it promises what is not known: %s", stdout)
			}
		})
	}
}

func TestWhatIsResumedTriesTheReleaseAgainThatFailedWithIt(t *testing.T) {
	both := conditionThat("Progressing", "False", failedRelease) + "," + conditionThat("FallenBack", "True", failedRelease)
	for name, test := range map[string]struct {
		deployment, denied, want string
		writes                   int
	}{
		"fallen back":  {fallenBack("", both), "", "deployment/web annotated, to be tried again as web-5d4c8bb5f9/3", 2},
		"rolled out":   {fallenBack("", ""), "", "", 1},
		"a later one":  {strings.Replace(fallenBack("", both), `"name":"main"`, `"name":"other"`, 1), "", "", 1},
		"gone":         {"", "", "", 1},
		"not readable": {fallenBack("", both), webPath, "note: cannot see whether the release of deployment/shop/web has fallen back, or try it again: ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			_, bare := record.Fingerprints(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "main", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}},
			}}})
			halt := strings.Replace(haltOf("configmap/shop/settings"), `\"since\"`, fmt.Sprintf(`\"templates\":[\"%s\"],\"since\"`, record.BareFingerprint(bare[:3])), 1)
			s.objects[settingPath], s.objects[haltsPath], s.objects[webPath], s.denied = settings, halt, test.deployment, test.denied
			if test.deployment == "" {
				delete(s.objects, webPath)
			}
			code, stdout, stderr := s.run(t.Context(), "resume", "configmap/settings", "k3v7x2ab")
			if code != 0 || !strings.Contains(stdout+stderr, test.want) || len(s.writes) != test.writes || strings.Contains(stdout, "tried again") != (test.writes > 1) {
				t.Errorf("%d, %s%s, wrote %v", code, stdout, stderr, s.writes)
			}
		})
	}
}

func TestAHaltThatALeaderEndsIsNotOffered(t *testing.T) {
	const id = `"annotations":{"com.xing.deployment-restart.resume":"k3v7x2ab","com.xing.deployment-restart.hold":"why"},`
	present := haltOf("configmap/shop/settings")
	changed := strings.Replace(present, `\"content\":\"`, `\"content\":\"former-`, 1)
	for name, test := range map[string]struct {
		settings, halts string
		isOffered       bool
	}{
		"of the present content": {heldSettings(strings.Replace(id, "k3v7x2ab", "other", 1)), present, true},
		"that is resumed":        {heldSettings(id), present, false},
		"of a former content":    {heldSettings(strings.Replace(id, "k3v7x2ab", "other", 1)), changed, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[settingPath], s.objects[haltsPath] = test.settings, test.halts
			if _, _, stderr := s.run(t.Context(), "resume", "configmap/settings"); strings.Contains(stderr, "k3v7x2ab: configmap/settings has broken") != test.isOffered {
				t.Errorf("resume: %s", stderr)
			}
			if _, stdout, stderr := s.run(t.Context(), "unhold", "configmap/settings"); strings.Contains(stdout, "Still halted: ") != test.isOffered {
				t.Errorf("unhold: %s%s", stdout, stderr)
			}
		})
	}
}
