// SPDX-License-Identifier: Apache-2.0
// Has a PCI device as a virtual machine has it (Linux, Documentation/driver-api/vfio.rst):
// vfio_holder GROUP ADDRESS. Prints "held", and "asked" if the kernel asks for the device.
#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

static int failed(const char* what) {
  perror(what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  char path[64];
  snprintf(path, sizeof(path), "/dev/vfio/%s", argv[1]);
  int container = open("/dev/vfio/vfio", O_RDWR);
  int group = open(path, O_RDWR);
  if (container < 0 || group < 0) {
    return failed("open");
  }
  if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) != 0) {
    return failed("set container");
  }
  if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) {
    return failed("set iommu");
  }
  int device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[2]);
  int asked = eventfd(0, 0);
  if (device < 0 || asked < 0) {
    return failed("get device");
  }
  char buffer[sizeof(struct vfio_irq_set) + sizeof(int)];
  struct vfio_irq_set* set = (struct vfio_irq_set*)buffer;
  set->argsz = sizeof(buffer);
  set->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  set->index = VFIO_PCI_REQ_IRQ_INDEX;
  set->start = 0;
  set->count = 1;
  memcpy(set->data, &asked, sizeof(asked));
  if (ioctl(device, VFIO_DEVICE_SET_IRQS, set) != 0) {
    return failed("set irqs");
  }
  puts("held");
  fflush(stdout);
  struct pollfd wait = {asked, POLLIN, 0};
  poll(&wait, 1, -1);
  puts("asked");
  return 0;
}
