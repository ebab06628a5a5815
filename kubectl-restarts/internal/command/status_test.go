package command_test

import (
	"strings"
	"testing"
)

func TestTheStatusListsWorkloadsByTheirState(t *testing.T) {
	s := newServer(t)
	settled := strings.ReplaceAll(deployment(enabled), `"web"`, `"api"`)
	s.objects[listPath] = `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + deployment(held) + "," + settled + `]}`
	s.objects["/api/v1/namespaces/shop/configmaps"] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`
	for _, test := range []struct {
		arguments []string
		code      int
		has, not  string
	}{
		{[]string{"--state=all"}, 0, "deployment/api", "\n\n\n"},
		{[]string{"--state=all"}, 0, "2 of 2 workloads that are enabled:", "Only the leader"},
		{[]string{"--state=settled"}, 0, "0 of 2 workloads that are enabled:", "deployment/web"},
		{[]string{"--state=lacking", "-o", "json"}, 0, `"workload": "deployment/web"`, `"summary"`},
		{[]string{"--state=lacking", "--state=failed"}, 0, "lacking", "settled"},
		{[]string{"--state=sleeping"}, 1, `error: --state: "sleeping" is not failed, lacking, `, "deployment"},
	} {
		code, stdout, stderr := s.run(t.Context(), append([]string{"status", "--leader=false"}, test.arguments...)...)
		if said := stdout + stderr; code != test.code || !strings.Contains(said, test.has) || strings.Contains(said, test.not) {
			t.Errorf("%v: %d, %s", test.arguments, code, said)
		}
	}
}
