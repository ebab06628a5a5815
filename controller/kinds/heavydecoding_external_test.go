package kinds_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func TestAnEventSaysWhichRevisionIsNotDecoded(t *testing.T) {
	w, events := objecttest.AgentReadingItsEnvironment(), record.NewFakeRecorder(1)
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"controllerrevisions": {Total: 2, Make: func(from, to int) apiclient.Page {
		list := &appsv1.ControllerRevisionList{TypeMeta: metav1.TypeMeta{Kind: "ControllerRevisionList", APIVersion: "apps/v1"}}
		for i := from; i < to; i++ {
			list.Items = append(list.Items, appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("agent-", i), OwnerReferences: []metav1.OwnerReference{{UID: w.UID, Controller: new(true)}}},
				Data:       apiruntime.RawExtension{Raw: []byte(`{"spec":{"template":` + []string{`{}`, objecttest.ManyContainers}[i] + `}}`)},
			})
		}
		return list
	}}}}
	reader := server.Reader(t)
	reader.Events = events
	isPresent, err := reader.NoEarlierRevision(t.Context(), w)
	if err != nil || isPresent(kinds.Origin{Revision: "agent-0"}) || !isPresent(kinds.Origin{Revision: "agent-1"}) {
		t.Errorf("%v, or the pods of the wrong revision count", err)
	}
	if got := <-events.Events; !strings.HasPrefix(got, "Warning RevisionNotRead ") || !strings.Contains(got, "read controllerrevision ns/agent-1: it has too many values") {
		t.Errorf("the Event says: %s", got)
	}
}
