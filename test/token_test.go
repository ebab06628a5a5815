package test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/test/harness"
)

// A kubelet replaces the token of a pod in its file before it expires, or too late
// if the node was away.
func TestATokenThatExpiresIsReplacedWithoutALostRestart(t *testing.T) {
	s := newSceneApart(t)
	token := filepath.Join(t.TempDir(), "token")
	s.writeToken(token, "first")
	s.useTokenFile(token)
	controller := s.startController("--restart-backoff-limit=0") // many edits follow
	s.make(settings, set("a", "1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)

	// A token that is bound to an object ends with it.
	secrets := s.client.CoreV1().Secrets(s.installation.Namespace)
	s.must(secrets.Delete(t.Context(), s.namespace+"-first", metav1.DeleteOptions{}))
	for begin := time.Now(); len(controller.Log().Containing("level=WARN", "Unauthorized", s.namespace+"/app")) == 0; {
		if time.Since(begin) > waitLimit {
			t.Fatal("the API server does not refuse the token")
		}
		s.round++
		s.edit(settings, set("round", strconv.Itoa(s.round)))
		s.awaitTime(time.Now().Add(flapPeriod))
	}
	refused := s.now(app)
	s.edit(settings, set("a", "2"))
	s.writeToken(token, "second")
	// The client library reads the file again after a minute.
	s.must(harness.Eventually(t.Context(), 3*waitLimit, func(ctx context.Context) error {
		st, err := s.look(ctx, app)
		if err == nil && st.restartedAt() == refused.restartedAt() {
			err = errors.New("the workload is not restarted")
		}
		return err
	}))
	s.awaitRollout(app)
	s.settle()
	s.requireRestarts(app, refused, 1)
}

// writeToken writes a token of the controller's account into a file, which is valid
// as long as a Secret of that name is there.
func (s *scene) writeToken(file, name string) {
	s.Helper()
	bound, err := s.client.CoreV1().Secrets(s.installation.Namespace).Create(s.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name}}, metav1.CreateOptions{})
	s.must(err)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: bound.Name, UID: bound.UID},
	}}
	answer, err := s.client.CoreV1().ServiceAccounts(s.installation.Namespace).
		CreateToken(s.Context(), s.installation.ServiceAccount, request, metav1.CreateOptions{})
	s.must(err)
	s.must(os.WriteFile(file, []byte(answer.Status.Token), 0o600))
}

// useTokenFile makes the controller read its token from a file, as in a cluster.
func (s *scene) useTokenFile(file string) {
	s.Helper()
	config, err := clientcmd.LoadFromFile(s.installation.Kubeconfig)
	s.must(err)
	for _, user := range config.AuthInfos {
		user.Token, user.TokenFile = "", file
	}
	own := *s.installation
	own.Kubeconfig = file + ".kubeconfig"
	s.must(clientcmd.WriteToFile(*config, own.Kubeconfig))
	s.installation = &own
}
