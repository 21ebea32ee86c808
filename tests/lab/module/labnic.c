// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * labnic: a driver for a NIC that is not there, on a function with SR-IOV. It sends nothing, and
 * keeps what the host sets of its virtual functions, as mlx5_core and ixgbe do; new ones have no
 * spoof check.
 */
#include <linux/etherdevice.h>
#include <linux/if_link.h>
#include <linux/module.h>
#include <linux/pci.h>

#define LAB_VFS_MAX 8

struct lab_vf {
	u8 mac[ETH_ALEN];
	u16 vlan;
	bool spoofchk, trusted;
};

struct lab_nic {
	struct lab_vf vfs[LAB_VFS_MAX];
};

static struct lab_vf *vf_of(struct net_device *dev, int n)
{
	struct lab_nic *nic = netdev_priv(dev);

	return n >= 0 && n < min(LAB_VFS_MAX, pci_num_vf(to_pci_dev(dev->dev.parent)))
		       ? &nic->vfs[n]
		       : NULL;
}

static int nic_open(struct net_device *dev)
{
	netif_carrier_on(dev);
	return 0;
}

static int nic_stop(struct net_device *dev)
{
	netif_carrier_off(dev);
	return 0;
}

static netdev_tx_t nic_send(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static int nic_set_mac(struct net_device *dev, int n, u8 *mac)
{
	struct lab_vf *vf = vf_of(dev, n);

	if (!vf)
		return -EINVAL;
	ether_addr_copy(vf->mac, mac);
	return 0;
}

static int nic_set_vlan(struct net_device *dev, int n, u16 vlan, u8 qos, __be16 proto)
{
	struct lab_vf *vf = vf_of(dev, n);

	if (!vf)
		return -EINVAL;
	vf->vlan = vlan;
	return 0;
}

static int nic_set_spoofchk(struct net_device *dev, int n, bool on)
{
	struct lab_vf *vf = vf_of(dev, n);

	if (!vf)
		return -EINVAL;
	vf->spoofchk = on;
	return 0;
}

static int nic_set_trust(struct net_device *dev, int n, bool on)
{
	struct lab_vf *vf = vf_of(dev, n);

	if (!vf)
		return -EINVAL;
	vf->trusted = on;
	return 0;
}

static int nic_get_config(struct net_device *dev, int n, struct ifla_vf_info *into)
{
	struct lab_vf *vf = vf_of(dev, n);

	if (!vf)
		return -EINVAL;
	into->vf = n;
	ether_addr_copy(into->mac, vf->mac);
	into->vlan = vf->vlan;
	into->spoofchk = vf->spoofchk;
	into->trusted = vf->trusted;
	return 0;
}

static const struct net_device_ops nic_ops = {
	.ndo_open = nic_open,
	.ndo_stop = nic_stop,
	.ndo_start_xmit = nic_send,
	.ndo_set_vf_mac = nic_set_mac,
	.ndo_set_vf_vlan = nic_set_vlan,
	.ndo_set_vf_spoofchk = nic_set_spoofchk,
	.ndo_set_vf_trust = nic_set_trust,
	.ndo_get_vf_config = nic_get_config,
};

static int nic_probe(struct pci_dev *p, const struct pci_device_id *id)
{
	struct net_device *dev;
	int r;

	if (p->is_virtfn)
		return -ENODEV;
	r = pci_enable_device(p);
	if (r)
		return r;
	pci_set_master(p);
	dev = alloc_etherdev(sizeof(struct lab_nic));
	if (!dev)
		return -ENOMEM;
	SET_NETDEV_DEV(dev, &p->dev);
	dev->netdev_ops = &nic_ops;
	eth_hw_addr_random(dev);
	netif_carrier_off(dev);
	pci_set_drvdata(p, dev);
	r = register_netdev(dev);
	if (r)
		free_netdev(dev);
	return r;
}

static void nic_remove(struct pci_dev *p)
{
	struct net_device *dev = pci_get_drvdata(p);

	pci_disable_sriov(p);
	unregister_netdev(dev);
	free_netdev(dev);
	pci_disable_device(p);
}

static int nic_sriov(struct pci_dev *p, int n)
{
	struct lab_nic *nic = netdev_priv(pci_get_drvdata(p));

	memset(nic->vfs, 0, sizeof(nic->vfs));
	return pci_sriov_configure_simple(p, n);
}

static const struct pci_device_id nic_ids[] = { { PCI_DEVICE(0x8086, 0x0f0f) }, {} };
MODULE_DEVICE_TABLE(pci, nic_ids);

static struct pci_driver nic_driver = {
	.name = "labnic",
	.id_table = nic_ids,
	.probe = nic_probe,
	.remove = nic_remove,
	.sriov_configure = nic_sriov,
};
module_pci_driver(nic_driver);

MODULE_DESCRIPTION("gpupass lab: a NIC with virtual functions");
MODULE_LICENSE("GPL");
