<?xml version="1.0"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- The definition of a domain, with the agent's mark. The parameter is the resource's name. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:gpupass="urn:gpupass:pacemaker:1" xmlns:former="https://gpupass.org/pacemaker/1"
	exclude-result-prefixes="former">
	<xsl:output method="xml" omit-xml-declaration="yes"/>
	<xsl:param name="resource"/>
	<xsl:template name="mark">
		<gpupass:cluster resource="{$resource}"/>
	</xsl:template>
	<xsl:template match="@*|node()">
		<xsl:copy><xsl:apply-templates select="@*|node()"/></xsl:copy>
	</xsl:template>
	<!-- One that is there already, also of versions before 0.9. -->
	<xsl:template match="/domain/metadata/gpupass:cluster | /domain/metadata/former:cluster"/>
	<xsl:template match="/domain/metadata[1]">
		<xsl:copy>
			<xsl:apply-templates select="@*|node()"/>
			<xsl:call-template name="mark"/>
		</xsl:copy>
	</xsl:template>
	<xsl:template match="/domain[not(metadata)]">
		<xsl:copy>
			<xsl:apply-templates select="@*|node()"/>
			<metadata><xsl:call-template name="mark"/></metadata>
		</xsl:copy>
	</xsl:template>
</xsl:stylesheet>
