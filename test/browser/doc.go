// Package browser holds the tests of the status page in headless Chromium: what a person sees of it, and
// that it does there what its headers and templates promise. Most of them show a page whose content a
// test chooses; one shows the pages of controllers on a local cluster, and makes the pictures of the
// documents.
//
// It is a module of its own, so that the client of the browser is no dependency of the controller.
package browser
