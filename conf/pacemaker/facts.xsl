<?xml version="1.0"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Of each libvirt domain one line: UUID, active (yes, no), the resource in the agent's mark,
     whether the mark says leftover (yes, no), and the PCI addresses of its hostdevs with commas
     between them. A minus sign stands for what is not there. The mark of versions before 0.9 has
     another name, and counts where there is none of today's. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:gpupass="urn:gpupass:pacemaker:1" xmlns:former="https://gpupass.org/pacemaker/1">
	<xsl:output method="text"/>
	<xsl:template match="text()"/>
	<xsl:template match="/">
		<xsl:for-each select="/domain | /all/domain">
			<xsl:variable name="mark" select="metadata/gpupass:cluster |
				metadata[not(gpupass:cluster)]/former:cluster"/>
			<!-- A VF is an interface, where libvirt sets its MAC and VLAN. -->
			<xsl:variable name="hostdevs" select="devices/hostdev[@type = 'pci']/source/address |
				devices/interface[@type = 'hostdev']/source/address[@type = 'pci']"/>
			<xsl:value-of select="translate(normalize-space(uuid), ' ABCDEF', '_abcdef')"/>
			<xsl:choose><xsl:when test="@id"> yes </xsl:when><xsl:otherwise> no </xsl:otherwise></xsl:choose>
			<xsl:value-of select="translate(normalize-space($mark/@resource), ' ', '_')"/>
			<xsl:if test="normalize-space($mark/@resource) = ''">-</xsl:if>
			<xsl:choose>
				<xsl:when test="$mark/@leftover = 'yes'"> yes </xsl:when>
				<xsl:otherwise> no </xsl:otherwise>
			</xsl:choose>
			<xsl:for-each select="$hostdevs">
				<xsl:if test="position() &gt; 1">,</xsl:if>
				<xsl:value-of select="concat(substring-after(@domain, '0x'), ':', substring-after(@bus, '0x'), ':',
					substring-after(@slot, '0x'), '.', substring-after(@function, '0x'))"/>
			</xsl:for-each>
			<xsl:if test="not($hostdevs)">-</xsl:if>
			<xsl:text>&#10;</xsl:text>
		</xsl:for-each>
	</xsl:template>
</xsl:stylesheet>
