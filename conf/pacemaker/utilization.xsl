<?xml version="1.0"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Of the cluster's section of nodes: the utilization of one, a name and a value a line. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
	<xsl:output method="text"/>
	<xsl:param name="node"/>
	<xsl:template match="/">
		<xsl:for-each select="//node[@uname = $node]/utilization/nvpair">
			<xsl:value-of select="concat(translate(@name, ' ', '_'), ' ', translate(@value, ' ', '_'), '&#10;')"/>
		</xsl:for-each>
	</xsl:template>
</xsl:stylesheet>
