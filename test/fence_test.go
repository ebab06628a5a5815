package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// stolenToken is a client with the controller's own token, in other hands.
func (s *scene) stolenToken() kubernetes.Interface {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.installation.Kubeconfig)
	s.must(err)
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	return client
}

// awaitFence waits until the API server heeds the policies, which deny another label.
func (s *scene) awaitFence(attempt func(ctx context.Context, patch string) error) {
	s.Helper()
	round := 0
	s.eventually("the fence holds", func(ctx context.Context) error {
		round++ // what changes nothing is not denied
		if err := attempt(ctx, fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, round)); !isFenced(err) {
			return fmt.Errorf("the answer is %w", errors.Join(err, errors.New("no denial")))
		}
		return nil
	})
}

func isFenced(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+controllerName)
}

// fencedPatch is one that the controller is permitted to send.
type fencedPatch struct {
	name, patch string
	denial      string // empty where the fence lets it through
}

var workloadPatches = []fencedPatch{
	{"records checksums", `{"metadata":{"annotations":{"com.xing.deployment-restart.applied-config-checksums":"{}"}}}`, ""},
	{"restarts", `{"spec":{"template":{"metadata":{"annotations":{"com.xing.deployment-restart.timestamp":"2026-01-02T03:04:05Z","com.xing.deployment-restart.cause":"an edit"}}}}}`, ""},
	{"opts out", `{"metadata":{"annotations":{"com.xing.deployment-restart":"disabled"}}}`, "changes only its own annotations"},
	{"adds an annotation", `{"metadata":{"annotations":{"other":"1"}}}`, "changes only its own annotations"},
	{"removes an annotation", `{"metadata":{"annotations":{"com.xing.deployment-restart":null}}}`, "changes only its own annotations"},
	{"asks for a rollback", `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`, "changes only its own annotations"},
	{"adds a label", `{"metadata":{"labels":{"other":"1"}}}`, "nothing of a workload's metadata"},
	{"adds a finalizer", `{"metadata":{"finalizers":["example.com/stay"]}}`, "nothing of a workload's metadata"},
	{"changes the image", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example/evil"}]}}}}`, "nothing of a pod template"},
	{"changes the account of the pods", `{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`, "nothing of a pod template"},
	{"adds a label to the pods", `{"spec":{"template":{"metadata":{"labels":{"other":"1"}}}}}`, "nothing of a pod template"},
	{"adds an annotation to the pods", `{"spec":{"template":{"metadata":{"annotations":{"other":"1"}}}}}`, "nothing of a pod template"},
	{"removes an annotation from the pods", `{"spec":{"template":{"metadata":{"annotations":{"kept":null}}}}}`, "nothing of a pod template"},
	{"changes another field", `{"spec":{"minReadySeconds":7}}`, "nothing of a workload's spec"},
}

func TestTheFenceLetsTheAccountChangeNothingButItsOwnAnnotations(t *testing.T) {
	s := newSceneApart(t)
	pod := podOf()
	all := []workload{s.run("app", pod), s.runStateful("stateful", pod), s.runDaemons("daemons", pod)}
	thief := s.stolenToken()
	for _, w := range all {
		s.patch(w, `{"spec":{"template":{"metadata":{"annotations":{"kept":"1"}}}}}`)
		s.awaitFence(func(ctx context.Context, patch string) error { return s.tryPatch(ctx, thief, w, patch) })
		for _, p := range workloadPatches {
			s.requireFenced(w.kind+" "+p.name, p.denial, s.tryPatch(t.Context(), thief, w, p.patch))
		}
	}
	s.must(s.tryPatch(t.Context(), s.client, all[0], `{"metadata":{"labels":{"other":"1"}}}`)) // others may do as before

	// So may other accounts of the same namespace. kustomize can change the name of the account.
	label := `{"metadata":{"labels":{"other":"2"}}}`
	s.requireFenced("a renamed account adds a label", "nothing of a workload's metadata",
		s.tryPatch(t.Context(), s.accountOfTheSameNamespace("a-"+controllerName+"-z"), all[0], label))
	s.requireFenced("another account adds a label", "", s.tryPatch(t.Context(), s.accountOfTheSameNamespace("ci"), all[0], label))
}

// accountOfTheSameNamespace is a client that may do everything, with the name of an account in the
// controller's namespace.
func (s *scene) accountOfTheSameNamespace(name string) kubernetes.Interface {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.Kubeconfig())
	s.must(err)
	home := s.installation.Namespace
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + home + ":" + name, Groups: []string{"system:serviceaccounts:" + home, "system:masters"},
	}
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	return client
}

// The engine's own writes all pass: every test of it runs within the fence.
func TestTheFenceLetsTheEngineChangeNoTemplateOfAReplicaSet(t *testing.T) {
	s := newEngineSceneApart(t)
	app := s.deploy("app", 1)
	engine := s.startEngine()
	s.awaitRollout(app)
	s.must(engine.Stop())
	rs := s.awaitSizes(app, 1)[0]
	thief := s.stolenToken()
	sets := thief.AppsV1().ReplicaSets(s.namespace)
	patch := func(ctx context.Context, body string) error {
		_, err := sets.Patch(ctx, rs.Name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	s.awaitFence(patch)
	for _, p := range []fencedPatch{
		{"scales a ReplicaSet", `{"spec":{"replicas":1,"minReadySeconds":1},"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}}}`, ""},
		{"changes the image of a ReplicaSet", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example/evil"}]}}}}`, "nothing of a ReplicaSet's spec"},
		{"labels a ReplicaSet", `{"metadata":{"labels":{"other":"1"}}}`, "nothing of a ReplicaSet's metadata"},
		{"adds a finalizer to a ReplicaSet", `{"metadata":{"finalizers":["example.com/stay"]}}`, "nothing of a ReplicaSet's metadata"},
	} {
		s.requireFenced(p.name, p.denial, patch(t.Context(), p.patch))
	}
	_, err := sets.Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "evil"},
		Spec:       appsv1.ReplicaSetSpec{Selector: selector("evil"), Template: podTemplate("evil", podOf())},
	}, metav1.CreateOptions{})
	s.requireFenced("creates a ReplicaSet without an owner", "creates ReplicaSets of Deployments only", err)

	home := s.ownNamespace()
	evil := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: probeName},
		Spec:       appsv1.DeploymentSpec{Selector: selector("evil"), Template: podTemplate("evil", podOf())},
	}
	_, err = thief.AppsV1().Deployments(home).Create(t.Context(), evil, metav1.CreateOptions{})
	s.requireFenced("creates a Deployment that runs pods", "no Deployment but its probe", err)
	s.letDelete(thief, "deployments")
	for _, p := range []fencedPatch{
		{"opts in with the status", `{"metadata":{"annotations":{"com.xing.deployment-restart":"enabled"}}}`, "nothing of the metadata but the revision"},
		{"gives a Deployment away with the status", `{"metadata":{"ownerReferences":[` + nobody + `]}}`, "nothing of the metadata but the revision"},
		{"adds a finalizer with the status", `{"metadata":{"finalizers":["example.com/stay"]}}`, "nothing of the metadata but the revision"},
		{"reports a revision", `{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}},"status":{"observedGeneration":1}}`, ""},
		{"says what runs", `{"metadata":{"annotations":{"com.xing.deployment-restart.runs":"uid {}"}}}`, ""},
		{"says that the present template runs", `{"metadata":{"annotations":{"com.xing.deployment-restart.runs":null}}}`, ""},
	} {
		_, err = thief.AppsV1().Deployments(s.namespace).Patch(t.Context(), app.name, types.MergePatchType, []byte(p.patch), metav1.PatchOptions{}, "status")
		s.requireFenced(p.name, p.denial, err)
	}
}

// nobody is a reference to an owner that does not exist: the garbage collector removes what only that owns.
const nobody = `{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"00000000-0000-0000-0000-000000000001"}`

// letDelete gives the account a permission without which the admission plugin OwnerReferencesPermissionEnforcement lets it
// change no owners, not even through the status. Few clusters have the plugin.
func (s *scene) letDelete(thief kubernetes.Interface, resource string) {
	s.Helper()
	meta := metav1.ObjectMeta{Name: "delete"}
	_, err := s.client.RbacV1().Roles(s.namespace).Create(s.Context(), &rbacv1.Role{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{resource, resource + "/status"}, Verbs: []string{"delete"}}},
	}, metav1.CreateOptions{})
	s.must(err)
	_, err = s.client.RbacV1().RoleBindings(s.namespace).Create(s.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: controllerName, Namespace: s.installation.Namespace}},
	}, metav1.CreateOptions{})
	s.must(err)
	may := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.namespace, Verb: "delete", Group: "apps", Resource: resource},
	}}
	s.eventually("the account may delete "+resource, func(ctx context.Context) error {
		answer, err := thief.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, may, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = errors.New("it may not")
		}
		return err
	})
}

// requireFenced reports an error unless the answer to a write is the denial, or there is no denial
// if that is empty.
func (s *scene) requireFenced(name, denial string, err error) {
	s.Helper()
	switch {
	case denial == "" && err != nil:
		s.Errorf("%s: %v, want it to pass", name, err)
	case denial != "" && (!isFenced(err) || !strings.Contains(err.Error(), denial)):
		s.Errorf("%s: %v, want the denial %q", name, err, denial)
	}
}

// tryPatch applies a merge patch to a workload.
func (s *scene) tryPatch(ctx context.Context, client kubernetes.Interface, w workload, patch string) error {
	s.Helper()
	return client.AppsV1().RESTClient().Patch(types.MergePatchType).Namespace(s.namespace).
		Resource(strings.ToLower(w.kind) + "s").Name(w.name).Body([]byte(patch)).Do(ctx).Error()
}
