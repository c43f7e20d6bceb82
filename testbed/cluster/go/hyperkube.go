// SPDX-License-Identifier: Apache-2.0

// One program for everything of Kubernetes that the bed runs: the packages are compiled and linked
// once, and its pages are shared by all. It takes its command from the name that it is called by.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func command(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return manager.NewControllerManagerCommand()
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubectl":
		return kubectl.NewDefaultKubectlCommand()
	case "kubelet":
		return kubeletCommand(kubelet.NewKubeletCommand)
	}
	return nil
}

// Newer kubelets' takes a context.
func kubeletCommand(make any) *cobra.Command {
	if made, ok := make.(func() *cobra.Command); ok {
		return made()
	}
	return make.(func(context.Context) *cobra.Command)(context.Background())
}

func main() {
	chosen := command(filepath.Base(os.Args[0]))
	if chosen == nil {
		fmt.Fprintln(os.Stderr, "hyperkube: call it through a link that has a command's name")
		os.Exit(2)
	}
	os.Exit(cli.Run(chosen))
}
